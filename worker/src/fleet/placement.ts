/** @module Which host gets a session. */
import type { Capacity, Language } from "@sandbar/shared";

export interface Candidate {
  readonly id: string;
  readonly status: "joining" | "online" | "unreachable" | "lost";
  readonly cordoned: boolean;
  readonly capacity: Capacity | null;
  readonly sessions: number;
  readonly reserved_mb: number;
}

export interface Need {
  readonly runtime: Language;
  /** Images of the caller's own bring their runtime with them. */
  readonly image: string | null;
  readonly memory_mb: number | null;
  /** The only host that will do. */
  readonly host?: string | null;
}

export interface Placement {
  readonly host: string;
  readonly memory_mb: number;
}

export interface Refusal {
  readonly reason: string;
  /** No session that ends makes room enough. */
  readonly never?: true;
}

const FALLBACK_MEMORY_MB = 1024;

/** The least loaded host that fits, or in words why none does. */
export function place(hosts: readonly Candidate[], need: Need): Placement | Refusal {
  if (need.host) return placeOn(hosts, need, need.host);
  if (hosts.length === 0) return { reason: "No host has joined" };
  const online = hosts.filter((host) => host.status === "online");
  if (online.length === 0) return { reason: "No host is online" };
  const open = online.filter((host) => !host.cordoned);
  if (open.length === 0) return { reason: "Every online host is cordoned" };
  const able = open.filter((host) => canRun(host, need));
  if (able.length === 0) return { reason: `No host has the runtime ${need.runtime} ready` };
  const most = Math.max(...able.map((host) => host.capacity!.memory_mb));
  if (need.memory_mb !== null && need.memory_mb > most)
    return {
      reason: `limits.memory_mb is ${need.memory_mb}, and no host has more than ${most}`,
      never: true,
    };
  const fitting = able.filter((host) => fits(host, need));
  if (fitting.length === 0) return { reason: "Every host is full" };
  const best = fitting.reduce((a, b) => (compareLoad(a, b, need) <= 0 ? a : b));
  return { host: best.id, memory_mb: memoryFor(best, need) };
}

/** Volumes cannot move, so neither can sessions that mount them. */
function placeOn(hosts: readonly Candidate[], need: Need, id: string): Placement | Refusal {
  const host = hosts.find((candidate) => candidate.id === id);
  const { host: _, ...rest } = need;
  const placed: Placement | Refusal = host ? place([host], rest) : { reason: "It was removed" };
  return "reason" in placed
    ? {
        ...placed,
        reason: `The session's volume lies on the host ${id}, which cannot take it: ${placed.reason}`,
      }
    : placed;
}

function canRun({ capacity }: Candidate, need: Need): boolean {
  if (!capacity) return false;
  // What an image of the caller's own can run, its host finds out.
  if (need.image !== null) return true;
  // Bash is in every image.
  if (need.runtime === "bash") return capacity.runtimes.length > 0;
  return capacity.runtimes.includes(need.runtime);
}

function fits(host: Candidate, need: Need): boolean {
  const { max_sessions, memory_mb } = host.capacity!;
  return host.sessions < max_sessions && host.reserved_mb + memoryFor(host, need) <= memory_mb;
}

function memoryFor(host: Candidate, need: Need): number {
  return need.memory_mb ?? host.capacity?.default_limits?.memory_mb ?? FALLBACK_MEMORY_MB;
}

function compareLoad(a: Candidate, b: Candidate, need: Need): number {
  return load(a, need) - load(b, need) || (a.id < b.id ? -1 : 1);
}

/** The scarcer of the two resources, after the session was placed. */
function load(host: Candidate, need: Need): number {
  const { max_sessions, memory_mb } = host.capacity!;
  return Math.max((host.sessions + 1) / max_sessions, (host.reserved_mb + memoryFor(host, need)) / memory_mb);
}
