/** @module Samples of what sessions use, asked of their hosts. */
import {
  type AllSessionMetrics,
  SAMPLE_INTERVAL_MS,
  type Sample,
  type SessionMetrics,
  type SessionSpec,
  SHORT_SAMPLE_LIMIT,
  type WireSample,
} from "@sandbar/shared";
import type { Env } from "../env.ts";
import { fleetObject, hostObject } from "../rpc.ts";

/** Whoever watches asks again. */
export const METRICS_TIMEOUT_MS = 5_000;
const MB = 1024 * 1024;

export function sessionMetrics(
  { limits, storage }: Pick<SessionSpec, "limits" | "storage">,
  samples: readonly WireSample[],
): SessionMetrics {
  return {
    data: samples.map(toSample),
    interval_ms: SAMPLE_INTERVAL_MS,
    limits: {
      cpus: limits.cpus,
      memory_bytes: limits.memory_mb * MB,
      pids: limits.pids,
      disk_bytes: storage === "BIND" ? null : limits.tmpfs_mb * MB,
    },
  };
}

/** Asks each host once. Sessions of a host that does not answer are left out. */
export async function allSessionMetrics(env: Env, tenant: string): Promise<AllSessionMetrics> {
  const placed = await fleetObject(env).sessionsOf(tenant);
  const byHost = Map.groupBy(placed, ({ host }) => host);
  const answers = await Promise.all(
    [...byHost].map(async ([host, sessions]) => {
      const params = { tenant, count: SHORT_SAMPLE_LIMIT };
      const answer = await hostObject(env, host).call("", "metrics.sessions", params, METRICS_TIMEOUT_MS);
      if ("failure" in answer) return [];
      // A host speaks for the sessions that were given to it, and for no others.
      const own = new Set(sessions.map(({ session }) => session));
      return answer.value.data.filter(({ session }) => own.has(session));
    }),
  );
  const data = answers.flat().map(({ session, samples }) => ({ session, samples: samples.map(toSample) }));
  return { data, interval_ms: SAMPLE_INTERVAL_MS };
}

function toSample([at, cpu_percent, memory_bytes, processes, disk_bytes]: WireSample): Sample {
  return { at: new Date(at).toISOString(), cpu_percent, memory_bytes, processes, disk_bytes };
}
