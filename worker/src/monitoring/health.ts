/**
 * Whether the parts that the control plane stands on answer: for load balancers and watchdogs, who are strangers. It says
 * which of them do, and nothing of what is in them.
 *
 * @module
 */
import { type DeepHealth, HEALTH_CHECKS, type HealthCheck } from "@sandbar/shared";
import type { Env } from "../env.ts";
import { within } from "../read-within.ts";
import { fleetObject, hostObject } from "../rpc.ts";
import { Recent } from "./recent.ts";

const GOOD_MS = 5_000;
const CHECK_MS = 3_000;
/** Asked until one of them is there. */
const HOSTS_ASKED = 20;

const CHECKS: Record<HealthCheck, (env: Env) => Promise<boolean>> = {
  database: async ({ DB }) => (await DB.prepare("SELECT 1 AS one").first<number>("one")) === 1,
  storage: async ({ BLOBS }) => (await BLOBS.head("healthz")) !== undefined,
  objects: async (env) => Array.isArray(await fleetObject(env).hosts()),
  hosts: async (env) => {
    const online = (await fleetObject(env).hosts()).filter(({ status }) => status === "online");
    for (const { id } of online.slice(0, HOSTS_ASKED))
      if (await hostObject(env, id).isReachable()) return true;
    return false;
  },
};

const recent = new Recent<DeepHealth>(GOOD_MS);

/** Strangers may ask as often as they like: the parts are asked once in some seconds. */
export const deepHealth = (env: Env): Promise<DeepHealth> => recent.get(() => look(env));

async function look(env: Env): Promise<DeepHealth> {
  const results = await Promise.all(
    HEALTH_CHECKS.map(async (name) => [name, await answers(name, env)] as const),
  );
  const checks = Object.fromEntries(results) as DeepHealth["checks"];
  return { status: results.every(([, result]) => result === "ok") ? "ok" : "failing", checks };
}

async function answers(name: HealthCheck, env: Env): Promise<"ok" | "failing"> {
  try {
    return (await within(CHECKS[name](env), CHECK_MS)) === true ? "ok" : "failing";
  } catch (error) {
    console.error("unhealthy", name, error);
    return "failing";
  }
}
