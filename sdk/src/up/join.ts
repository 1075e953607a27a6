/** @module Joins this machine's agent-host to the local control plane, the same way a remote host joins. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type Home, REPO } from "./home.ts";

const run = promisify(execFile);

export async function joinHost({
  url,
  home,
  say,
}: {
  url: string;
  home: Home;
  say: (line: string) => void;
}): Promise<void> {
  if (existsSync(home.identityFile)) {
    const { host_id } = JSON.parse(readFileSync(home.identityFile, "utf8")) as { host_id: string };
    const answer = await call(url, home.keyFile, `/v1/hosts/${host_id}`);
    await answer.body?.cancel();
    if (answer.ok) return;
    say("this host's enrollment is not known any more; joining again");
  }
  const answer = await call(url, home.keyFile, "/v1/hosts/enrollments", { method: "POST" });
  if (!answer.ok) throw new Error(`could not enroll this host: ${answer.status} ${await answer.text()}`);
  const { token } = (await answer.json()) as { token: string };
  await run(process.execPath, [join(REPO, "agent-host/src/main.ts"), "join", url, token], {
    env: { ...process.env, SANDBAR_HOME: home.root },
  });
  say("joined this machine as a host");
}

export async function waitForHost({ url, keyFile }: { url: string; keyFile: string }): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const answer = await call(url, keyFile, "/v1/hosts").catch(() => null);
    if (answer?.ok) {
      const { data } = (await answer.json()) as { data: { status: string }[] };
      if (data.some((host) => host.status === "online")) return;
    }
    await sleep(100);
  }
  throw new Error("agent-host did not come online within 30 s; see its log");
}

function call(url: string, keyFile: string, path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`${url}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${readFileSync(keyFile, "utf8").trim()}` },
  });
}
