/** @module What the system says of another process: in /proc, or by `ps` where there is no /proc, as on macOS. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const PAGE = 4096;
/** The kernel counts a process's time in hundredths of a second. */
const TICK_US = 10_000;

export interface ProcessFacts {
  /** As the system writes it: another process may get the same number later. */
  readonly started: string;
  /** Its own time, and that of its children which have ended. */
  readonly cpuUs: number;
  readonly memoryBytes: number;
  /** What only this process has; what is mapped from files the system can take back. */
  readonly privateBytes: number;
  readonly threads: number;
}

export interface Processes {
  /** Null when there is no such process, or it only waits to be collected. */
  factsOf(pid: number): ProcessFacts | null;
  childrenOf(pid: number): number[];
  /** Its program with its arguments; empty when there is none. */
  commandOf(pid: number): string;
}

export const fromProc: Processes = {
  factsOf(pid) {
    const text = read(`/proc/${pid}/stat`);
    if (!text) return null;
    // What follows the name, which may have blanks and parentheses in it.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z") return null;
    const [, , shared = 0] = read(`/proc/${pid}/statm`).split(" ").map(Number);
    const memoryBytes = Number(fields[21]) * PAGE;
    return {
      started: fields[19]!,
      cpuUs: [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0) * TICK_US,
      memoryBytes,
      privateBytes: Math.max(0, memoryBytes - shared * PAGE),
      threads: Number(fields[17]),
    };
  },
  childrenOf: (pid) => numbersIn(read(`/proc/${pid}/task/${pid}/children`)),
  commandOf: (pid) => read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim(),
};

export const fromPs: Processes = {
  factsOf(pid) {
    const found = /^\s*(\S+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(ps("stat=,rss=,time=,lstart=", pid));
    if (!found || found[1]!.startsWith("Z")) return null;
    const memoryBytes = Number(found[2]) * 1024;
    const sizes = { memoryBytes, privateBytes: memoryBytes, threads: 1 };
    return { started: found[4]!, cpuUs: secondsOf(found[3]!) * 1e6, ...sizes };
  },
  childrenOf(pid) {
    const rows = run(["-axo", "pid=,ppid="]).split("\n").map(numbersIn);
    return rows.filter(([, parent]) => parent === pid).map(([child]) => child!);
  },
  commandOf: (pid) => ps("command=", pid).trim(),
};

export const { factsOf, childrenOf, commandOf } = existsSync("/proc/self/stat") ? fromProc : fromPs;

function ps(columns: string, pid: number): string {
  return Number.isInteger(pid) && pid > 0 ? run(["-o", columns, "-p", String(pid)]) : "";
}

/** It fails where nothing is found. */
function run(args: readonly string[]): string {
  try {
    const env = { PATH: process.env.PATH, LC_ALL: "C" };
    return execFileSync("ps", args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const numbersIn = (text: string) => (text.match(/\d+/g) ?? []).map(Number);

/** `[days-]hours:minutes:seconds`, or `minutes:seconds.hundredths` on macOS. */
function secondsOf(time: string): number {
  const [days, rest] = time.includes("-") ? time.split("-") : ["0", time];
  return rest!.split(":").reduce((sum, part) => sum * 60 + Number(part), 0) + Number(days) * 86_400;
}
