import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Claim } from "./home.ts";

const CLAIM = `
  const { claimHome, homeFromEnv } = await import(${JSON.stringify(join(import.meta.dirname, "home.ts"))});
  console.log(JSON.stringify(await claimHome(homeFromEnv())));
  process.stdin.resume();`;

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), "sandbar-home-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return home;
}

/** A process that claims the home, as `up.ts` does, and keeps what it got until it is ended. */
async function claim(home: string, before = ""): Promise<Claim & { child: ChildProcess }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", before + CLAIM, "up.ts"], {
    env: { ...process.env, SANDBAR_HOME: home },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = await once(child.stdout!.setEncoding("utf8"), "data");
  return { child, ...(JSON.parse(line) as Claim) };
}

test("of many that start at the same moment one has the home, and the others hear which", async () => {
  const home = newHome();
  const claims = await Promise.all(Array.from({ length: 6 }, () => claim(home)));
  const [holder, ...more] = claims.filter(({ heldBy }) => heldBy === null);
  expect(more).toEqual([]);
  for (const { heldBy } of claims.filter((other) => other !== holder)) expect(heldBy).toBe(holder!.child.pid);
});

test("a home is free after its holder left, and known to be in disorder after it was killed", async () => {
  const home = newHome();
  const first = await claim(home);
  expect(first).toMatchObject({ heldBy: null, afterCrash: false });
  first.child.stdin!.end();
  await once(first.child, "exit");
  const second = await claim(home);
  expect(second).toMatchObject({ heldBy: null, afterCrash: false });
  second.child.kill("SIGKILL");
  await once(second.child, "exit");
  expect(await claim(home)).toMatchObject({ heldBy: null, afterCrash: true });
});

test.runIf(process.platform === "linux")(
  "the number of a killed holder may be that of a thread now, as in a new container",
  async () => {
    const home = newHome();
    const asThread = `
      const { readdirSync, writeFileSync } = await import("node:fs");
      const thread = readdirSync("/proc/self/task").find((id) => Number(id) !== process.pid);
      writeFileSync(process.env.SANDBAR_HOME + "/up.pid", thread);`;
    expect(await claim(home, asThread)).toMatchObject({ heldBy: null, afterCrash: true });
  },
);
