/** @module Looks at a machine, and changes nothing. */
import { existsSync, statfsSync } from "node:fs";
import { release, totalmem } from "node:os";
import path from "node:path";
import Docker from "dockerode";
import { engineElsewhere } from "../../setup/docker-engine.ts";
import { engineRefusal } from "../../setup/engine-refusal.ts";
import { imageExists } from "../../setup/image-tag.ts";
import { type ImageName, imageRef } from "../../setup/images.ts";
import { checkEngine } from "../docker/engine-check.ts";
import { systemdRuns } from "./systemd.ts";

export interface DockerFacts {
  readonly version: string;
  readonly runc: string | undefined;
  /** Of versions with known holes, and of AppArmor. */
  readonly warnings: readonly string[];
  /** Why it cannot be used at all. */
  readonly refusal: string | null;
  readonly cgroupVersion: string;
  readonly limits: { readonly memory: boolean; readonly pids: boolean; readonly cpu: boolean };
  readonly seccomp: boolean;
  readonly folder: string;
  readonly images: readonly string[];
  readonly imagesMissing: readonly string[];
}

export interface ControlPlaneFacts {
  readonly url: string;
  readonly error?: string;
  /** How far this machine's clock is ahead of the control plane's. */
  readonly skewMs?: number;
}

export interface Facts {
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  readonly glibc: boolean;
  readonly root: boolean;
  readonly systemd: boolean;
  readonly kernel: string;
  readonly memoryMb: number;
  readonly docker: DockerFacts | { readonly error: string };
  readonly disks: readonly { readonly folder: string; readonly freeMb: number }[];
  readonly controlPlane: ControlPlaneFacts | null;
}

export interface LookAt {
  readonly url: string | undefined;
  readonly home: string;
  readonly images: readonly ImageName[];
}

export async function lookAt({ url, home, images }: LookAt): Promise<Facts> {
  const docker = await lookAtDocker(images);
  const folders = [home, ...("error" in docker ? [] : [docker.folder])].map(nearest);
  return {
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    glibc: isGlibc(),
    root: process.getuid?.() === 0,
    systemd: await systemdRuns(),
    kernel: release(),
    memoryMb: Math.floor(totalmem() / 1024 / 1024),
    docker,
    disks: [...new Set(folders)].map((folder) => ({ folder, freeMb: freeMb(folder) })),
    controlPlane: url === undefined ? null : await lookAtControlPlane(url),
  };
}

async function lookAtDocker(names: readonly ImageName[]): Promise<Facts["docker"]> {
  const elsewhere = engineElsewhere();
  if (elsewhere) return { error: elsewhere };
  const docker = new Docker({ timeout: 10_000 });
  try {
    const [info, version, report, refusal] = await Promise.all([
      docker.info(),
      docker.version(),
      checkEngine(docker),
      engineRefusal(docker),
    ]);
    const { Components = [] } = version as { Components?: { Name: string; Version: string }[] };
    const options: string[] = info.SecurityOptions ?? [];
    const refs = names.map((name) => ({ name, ref: imageRef(name) }));
    const there = await Promise.all(refs.map(({ ref }) => imageExists(docker, ref)));
    return {
      version: version.Version,
      runc: Components.find(({ Name }) => Name === "runc")?.Version,
      warnings: report.warnings,
      refusal,
      cgroupVersion: info.CgroupVersion ?? "1",
      limits: { memory: info.MemoryLimit, pids: info.PidsLimit, cpu: info.CpuCfsQuota },
      seccomp: options.some((option) => option.split(",").includes("name=seccomp")),
      folder: info.DockerRootDir,
      images: names,
      imagesMissing: names.filter((_, index) => !there[index]),
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { error: code === "EACCES" ? "this user may not use Docker's socket" : message };
  }
}

async function lookAtControlPlane(url: string): Promise<ControlPlaneFacts> {
  const began = Date.now();
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(10_000) });
    const ended = Date.now();
    await answer.body?.cancel();
    if (!answer.ok) return { url, error: `${url}/healthz answered ${answer.status}` };
    const date = Date.parse(answer.headers.get("date") ?? "");
    // It is cut to a second, and was said somewhere between question and answer.
    return Number.isNaN(date) ? { url } : { url, skewMs: skew(began, ended, date) };
  } catch (error) {
    const { message, cause } = error as Error;
    return { url, error: cause instanceof Error ? cause.message : message };
  }
}

/** The least that explains what was seen. */
export function skew(began: number, ended: number, date: number): number {
  if (ended < date) return ended - date;
  if (began > date + 999) return began - (date + 999);
  return 0;
}

function isGlibc(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime !== undefined;
}

/** The folder itself may be made later. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(path.dirname(folder));
}

function freeMb(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return Math.floor((bavail * bsize) / 1024 / 1024);
}
