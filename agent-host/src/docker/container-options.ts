/** @module What every sandbox container is: decided here, without I/O. */
import type { SessionSpec } from "@sandbar/shared";
import type { ContainerCreateOptions } from "dockerode";
import type { Config } from "../host/config.ts";
import { countsProcesses } from "./isolation.ts";
import { LABEL } from "./labels.ts";
import { networkSettings } from "./network-settings.ts";
import type { SessionStorage } from "./storage.ts";
import { SANDBOX_ID } from "./users.ts";

const MB = 1024 * 1024;
export interface Placement {
  readonly host: string;
  /** Null for a box of the warm pool, which has none yet. */
  readonly session: string | null;
  readonly box: string;
  readonly image: string;
  readonly runFolder: string;
  readonly storage: SessionStorage;
  readonly user: number;
  /** The file on the host that the sandbox has as its /etc/passwd; null for the image's own. */
  readonly passwd: string | null;
  readonly seccomp: string;
  /** Docker's name of the network, or `none`. */
  readonly network: string;
  /** Mounts and variables of this session alone: dependencies, volumes. */
  readonly extras?: Extras | undefined;
}

export interface Extras {
  readonly binds: readonly string[];
  readonly env: readonly string[];
}

/** A fifth of what the host's own processes have; Docker drops it where the kernel has no such thing. */
export const IO_WEIGHT = 100;

export const ulimits = ({ openFiles }: Pick<Config, "openFiles">) => [
  { Name: "nofile", Soft: Math.min(4096, openFiles), Hard: openFiles },
  { Name: "core", Soft: 0, Hard: 0 },
];

/** Labels cannot change after creation, names can: a claimed box is found by this one. */
export function containerName(session: string): string {
  return `sandbar-${session}`;
}

export function containerOptions(
  config: Config,
  spec: SessionSpec,
  placement: Placement,
): ContainerCreateOptions {
  const memory = spec.limits.memory_mb * MB;
  const env = ["HOME=/session", "LANG=C.UTF-8"];
  if (!config.kernelPreload) env.push("SANDBAR_KERNEL_PRELOAD=off");
  const binds = [
    `${config.runtimeDir}/guest:/opt/sandbar/guest:ro`,
    `${config.runtimeDir}/kernels:/opt/sandbar/kernels:ro`,
    `${placement.runFolder}:/run/sandbar:ro`,
    ...(placement.passwd === null ? [] : [`${placement.passwd}:/etc/passwd:ro`]),
    ...placement.storage.binds,
  ];
  if (spec.network === "egress") {
    const { binds: mounts, env: settings } = networkSettings(config, false);
    binds.push(...mounts);
    env.push(...settings);
  }
  binds.push(...(placement.extras?.binds ?? []));
  env.push(...(placement.extras?.env ?? []));
  return {
    Image: placement.image,
    Cmd: ["python3", "-I", "/opt/sandbar/guest/main.py"],
    // Images bring their own entrypoints; ours must be process 1.
    Entrypoint: [],
    User: `${placement.user}:${SANDBOX_ID}`,
    // Nor do their health checks concern us.
    Healthcheck: { Test: ["NONE"] },
    WorkingDir: "/session",
    Hostname: "sandbox",
    Env: env,
    ...(placement.session === null ? {} : { name: containerName(placement.session) }),
    Labels: {
      [LABEL.host]: placement.host,
      [LABEL.box]: placement.box,
      ...(placement.session === null ? { [LABEL.pool]: "1" } : { [LABEL.session]: placement.session }),
    },
    StopTimeout: 1,
    HostConfig: {
      AutoRemove: false,
      ...(config.runtime !== undefined && { Runtime: config.runtime }),
      Init: false,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges", `seccomp=${placement.seccomp}`],
      ...(countsProcesses(config.runtime) && { PidsLimit: spec.limits.pids }),
      Memory: memory,
      MemorySwap: memory,
      NanoCpus: Math.round(spec.limits.cpus * 1e9),
      BlkioWeight: IO_WEIGHT,
      NetworkMode: placement.network,
      IpcMode: "private",
      // A sandbox could fill the host's disk through /proc/1/fd/1.
      LogConfig: { Type: "none", Config: {} },
      Tmpfs: placement.storage.tmpfs,
      Ulimits: ulimits(config),
      RestartPolicy: { Name: "no" },
      Binds: binds,
    },
  };
}
