/** @module What a machine must have to be a host, and what to do about what it lacks. */
import { isOlder } from "../docker/engine-check.ts";
import type { DockerFacts, Facts } from "./facts.ts";
import { OWN_NODE } from "./release.ts";

export interface Finding {
  readonly check: string;
  /** `warn`: it works, with less than it could have. */
  readonly state: "ok" | "warn" | "fail";
  readonly detail: string;
  readonly fix?: string;
}

type Said = Omit<Finding, "check">;

/** Docker's images of three languages and what sessions write need about this much. */
const DISK_MB = { least: 2_048, forImages: 8_192, comfortable: 20_480 };
const KERNEL = "5.4";
/** A proof of the host's key is good for two minutes, and certificates and links of artifacts go by the clock as well. */
const SKEW_MS = { warn: 5_000, fail: 60_000 };

const CHECKS: readonly [check: string, judge: (facts: Facts) => Said | readonly Said[]][] = [
  ["machine", machine],
  ["Node", node],
  ["systemd", systemd],
  ["kernel", kernel],
  ["Docker", docker],
  ["cgroups", withDocker(cgroups)],
  ["seccomp", withDocker(seccomp)],
  ["images", withDocker(images)],
  ["disk", disk],
  ["control plane", controlPlane],
  ["clock", clock],
];

export function findingsOf(facts: Facts): Finding[] {
  return CHECKS.flatMap(([check, judge]) => [judge(facts)].flat().map((said) => ({ check, ...said })));
}

const ok = (detail: string): Said => ({ state: "ok", detail });
const warn = (detail: string, fix: string): Said => ({ state: "warn", detail, fix });
const fail = (detail: string, fix: string): Said => ({ state: "fail", detail, fix });

/** Without an engine that answers there is nothing to be said of it, and that is said once. */
function withDocker(judge: (docker: DockerFacts) => Said | Said[]): (facts: Facts) => Said | Said[] {
  return ({ docker }) => ("error" in docker ? [] : judge(docker));
}

function machine({ platform, arch, glibc, root, memoryMb }: Facts): Said {
  const detail = `${platform} ${arch}, ${memoryMb} MB of memory`;
  if (platform !== "linux" || !["x64", "arm64"].includes(arch) || !glibc)
    return fail(
      detail,
      "A host is a Linux machine, x64 or arm64, with glibc: Debian or Ubuntu, for example.",
    );
  if (!root) return fail(`${detail}; not root`, "Run it as root: `sudo` before the command.");
  if (memoryMb < 1_800)
    return warn(
      detail,
      "A session has 1024 MB unless SANDBAR_DEFAULT_MEMORY_MB says less: there is room for one.",
    );
  return ok(detail);
}

function node({ node }: Facts): Said {
  const [major] = node.split(".");
  if (Number(major) < 20) return fail(node, "Node 20 or newer is needed to install.");
  return ok(node === OWN_NODE ? node : `${node}; the daemon has ${OWN_NODE}, its own`);
}

function systemd({ systemd }: Facts): Said {
  if (systemd) return ok("runs this machine");
  return fail(
    "does not run this machine",
    "In a container, or without systemd, start the daemon yourself: `agent-host join`, then `agent-host run`.",
  );
}

function kernel({ kernel }: Facts): Said {
  if (!isOlder(kernel, KERNEL)) return ok(kernel);
  return warn(
    kernel,
    `Linux ${KERNEL} or newer is what sandboxes are tested with: upgrade the distribution.`,
  );
}

function docker({ docker }: Facts): Said | Said[] {
  if ("error" in docker)
    return fail(
      `does not answer: ${docker.error}`,
      "`apt-get install docker.io` and `systemctl enable --now docker`; or see docker's own page for this system.",
    );
  if (docker.refusal) return fail(docker.version, docker.refusal);
  const detail = `${docker.version}${docker.runc ? `, runc ${docker.runc}` : ""}`;
  const [first, ...others] = docker.warnings.map((text) =>
    warn(
      text,
      text.startsWith("AppArmor")
        ? "Install the package apparmor, and restart the machine and Docker; sandboxes run without it, too."
        : "Upgrade Docker (with containerd and runc) from your distribution's security updates or Docker's packages.",
    ),
  );
  return first ? [ok(detail), first, ...others] : ok(detail);
}

function cgroups({ cgroupVersion, limits }: DockerFacts): Said {
  const missing = Object.entries(limits).flatMap(([name, there]) => (there ? [] : [name]));
  const detail = `version ${cgroupVersion}${missing.length > 0 ? `, without ${missing.join(", ")}` : ""}`;
  if (missing.length > 0)
    return fail(
      detail,
      `Sessions could take all of it. Turn the controllers on: \`cgroup_enable=memory swapaccount=1\` on the kernel's command line, then restart.`,
    );
  if (cgroupVersion === "2") return ok(detail);
  return warn(
    detail,
    "It works; version 2 counts memory more exactly. `systemd.unified_cgroup_hierarchy=1` on the kernel's command line.",
  );
}

function seccomp({ seccomp }: DockerFacts): Said {
  if (seccomp) return ok("filters system calls");
  return fail(
    "Docker has none",
    "No session starts without it: use a kernel with CONFIG_SECCOMP_FILTER and a Docker that is built with it.",
  );
}

function images({ images, imagesMissing }: DockerFacts): Said {
  if (imagesMissing.length === 0) return ok(`${images.join(", ")} are ready`);
  return warn(
    `${imagesMissing.join(", ")} must be built`,
    "`agent-host install` or `upgrade` builds them, which takes some minutes the first time.",
  );
}

function disk({ disks, docker }: Facts): Said[] {
  const building = "error" in docker || docker.imagesMissing.length > 0;
  const least = building ? DISK_MB.forImages : DISK_MB.least;
  return disks.map(({ folder, freeMb }) => {
    const detail = `${freeMb} MB free at ${folder}`;
    if (freeMb < least)
      return fail(
        detail,
        `${least} MB are needed. \`docker system prune\` frees what Docker no longer uses; or use a larger disk.`,
      );
    if (freeMb < DISK_MB.comfortable)
      return warn(
        detail,
        "Enough to begin with; packages, datasets and volumes of sessions come to this disk, too.",
      );
    return ok(detail);
  });
}

function controlPlane({ controlPlane }: Facts): Said | Said[] {
  if (!controlPlane) return [];
  const { url, error } = controlPlane;
  if (error === undefined) return ok(`${url} answers`);
  return fail(
    `${url} does not answer: ${error}`,
    "This machine dials it: look at the address, the machine's DNS and its way out (https_proxy is not used for the link).",
  );
}

function clock({ controlPlane }: Facts): Said | Said[] {
  const skewMs = controlPlane?.skewMs;
  if (skewMs === undefined) return [];
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  if (Math.abs(skewMs) < SKEW_MS.warn) return ok("agrees with the control plane's");
  const detail = `${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the control plane's`;
  const fix = "`timedatectl set-ntp true` (the package systemd-timesyncd or chrony).";
  return Math.abs(skewMs) < SKEW_MS.fail ? warn(detail, fix) : fail(detail, fix);
}
