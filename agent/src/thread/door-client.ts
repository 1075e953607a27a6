/** @module Sandbar's client inside a thread: every request goes through the agent's door, in the name of the run's key. */
import { Sandbar } from "@sandbar/sdk";
import { ACTING_KEY_HEADER } from "@sandbar/shared";
import type { Env } from "../env.ts";

const EXECUTIONS = /^\/v1\/sessions\/[^/]+\/executions$/;
const INTERRUPT = /^(\/v1\/sessions\/[^/]+\/executions\/[^/]+)\/interrupt$/;

/** Told of the executions that requests have started, and of those that they have interrupted. */
export interface Told {
  begun(path: string): void;
  interrupted(path: string): void;
}

export function doorClient(
  env: Env,
  { key_id, origin }: { key_id: string; origin: string },
  told?: Told,
): Sandbar {
  const own: typeof fetch = async (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set(ACTING_KEY_HEADER, key_id);
    const response = await env.SANDBAR.fetch(
      new Request(String(input), { ...init, headers, redirect: "manual" }),
    );
    if (told && init.method === "POST") tellOf(told, new URL(String(input)).pathname, response);
    return response;
  };
  return new Sandbar({ url: origin, apiKey: "", fetch: own });
}

function tellOf(told: Told, path: string, response: Response): void {
  const started = response.headers.get("Location");
  if (started && EXECUTIONS.test(path)) told.begun(started);
  const [, interrupted] = INTERRUPT.exec(path) ?? [];
  if (interrupted && response.ok) told.interrupted(interrupted);
}
