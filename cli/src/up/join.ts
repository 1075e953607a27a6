/** @module Joins this machine's agent-host to the local control plane, the same way a remote host joins. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { Host } from "@sandbar/shared";
import { type Home, REPO } from "./home.ts";

const run = promisify(execFile);

/** Joins unless it has joined, and answers with the epoch of the host's last connection. */
export async function joinHost({
  url,
  home,
  say,
}: {
  url: string;
  home: Home;
  say: (line: string) => void;
}): Promise<number> {
  if (existsSync(home.identityFile)) {
    const answer = await call(url, home.keyFile, `/v1/hosts/${hostIdOf(home)}`);
    if (answer.ok) return ((await answer.json()) as Host).epoch;
    if (answer.status !== 404)
      throw new Error(`could not ask for this host: ${answer.status} ${await answer.text()}`);
    await answer.body?.cancel();
    say("this machine's host was removed; joining as a new one");
  }
  const answer = await call(url, home.keyFile, "/v1/hosts/enrollments", { method: "POST" });
  if (!answer.ok) throw new Error(`could not enroll this host: ${answer.status} ${await answer.text()}`);
  const { token } = (await answer.json()) as { token: string };
  await run(process.execPath, [join(REPO, "agent-host/src/main.ts"), "join", url, token], {
    env: { ...process.env, SANDBAR_HOME: home.root, SANDBAR_URL: url },
  }).catch((error: { code?: number | string; stderr?: string }) => {
    // The error's own message has the whole command, and with it the token.
    throw new Error(`this machine could not join: ${error.stderr?.trim() || `it ended with ${error.code}`}`);
  });
  say("joined this machine as a host");
  return 0;
}

/** A host is called online for a while after it left, so only a newer connection than the last one counts. */
export async function waitForHost({
  url,
  home,
  after,
  withinMs,
}: {
  url: string;
  home: Home;
  after: number;
  withinMs: number;
}): Promise<void> {
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; ) {
    const answer = await call(url, home.keyFile, `/v1/hosts/${hostIdOf(home)}`).catch(() => null);
    if (answer?.ok) {
      const { status, epoch } = (await answer.json()) as Host;
      if (status === "online" && epoch > after) return;
    }
    await sleep(100);
  }
  throw new Error(`agent-host did not come online within ${withinMs / 1000} s; see its log`);
}

function hostIdOf(home: Home): string {
  return (JSON.parse(readFileSync(home.identityFile, "utf8")) as { host_id: string }).host_id;
}

function call(url: string, keyFile: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${url}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${readFileSync(keyFile, "utf8").trim()}` },
  });
}
