/** @module Sandbar's client inside a thread: every request goes through the agent's door, in the name of the run's key. */
import { Sandbar } from "@sandbar/sdk";
import { ACTING_KEY_HEADER } from "@sandbar/shared";
import type { Env } from "../env.ts";

const EXECUTIONS = /^\/v1\/sessions\/[^/]+\/executions$/;

/** `begun` is told of every execution that a request has started. */
export function doorClient(
  env: Env,
  { key_id, origin }: { key_id: string; origin: string },
  begun: (path: string) => void = () => {},
): Sandbar {
  const own: typeof fetch = async (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set(ACTING_KEY_HEADER, key_id);
    const response = await env.SANDBAR.fetch(
      new Request(String(input), { ...init, headers, redirect: "manual" }),
    );
    const path = response.headers.get("Location");
    if (path && init.method === "POST" && EXECUTIONS.test(new URL(String(input)).pathname)) begun(path);
    return response;
  };
  return new Sandbar({ url: origin, apiKey: "", fetch: own });
}
