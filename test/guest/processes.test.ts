import type { GuestProcess, ProcessOutput } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox, sleep } from "./fixture.ts";

describe("the guest's commands", () => {
  let sandbox: Sandbox;
  let count = 0;

  beforeAll(async () => {
    sandbox = await Sandbox.start({ docker: ["--pids-limit", "64"] });
  });
  afterAll(() => sandbox?.stop());

  async function ask<T>(method: string, params: Record<string, unknown>): Promise<T> {
    const answer = await sandbox.call(method, params);
    if (answer.error !== undefined) throw new Error(`${answer.code}: ${answer.error}`);
    return answer.result as T;
  }
  async function start(command: string, more: Record<string, unknown> = {}): Promise<string> {
    const process = `prc_${++count}`;
    await ask("ps.start", { process, command, ...more });
    return process;
  }
  const get = (process: string) => ask<GuestProcess>("ps.get", { process });
  async function ended(process: string): Promise<NonNullable<GuestProcess["exit"]>> {
    for (let i = 0; i < 200; i++) {
      const { exit } = await get(process);
      if (exit) return exit;
      await sleep(25);
    }
    throw new Error("it did not end");
  }
  const running = (pattern: string) =>
    Number(sandbox.exec("sh", "-c", `pgrep -f '${pattern}' | wc -l`).trim());
  async function gone(pattern: string): Promise<void> {
    for (let i = 0; i < 100 && running(pattern) > 0; i++) await sleep(25);
    expect(running(pattern)).toBe(0);
  }

  it("end with their leader, whoever still holds their output", async () => {
    const process = await start("(sleep 0.3; echo late; exec sleep 61) & echo early");
    expect(await ended(process)).toMatchObject({ exit_code: 0 });
    await expect.poll(() => running("^sleep 61"), { timeout: 20_000 }).toBe(1);
    const { entries, exit } = await ask<ProcessOutput>("ps.output", { process, after: 0 });
    expect(entries.map(({ text }) => text)).toEqual(["early\n"]);
    expect(exit).not.toBeNull();
    await ask("ps.remove", { process });
    await gone("^sleep 61");
  });

  it("go with everything they started: stopped, daemonised, under another name", async () => {
    const process = await start(
      "kill -STOP $$ & setsid sh -c 'trap \"\" TERM HUP; env -i sleep 62' & (env -i setsid sleep 62 &) ; sleep 62",
    );
    for (let i = 0; i < 100 && running("^sleep 62") < 2; i++) await sleep(25);
    await ask("ps.remove", { process });
    await gone("^sleep 62");
  });

  it("are ended by deletion even as a fork bomb, and the guest goes on", async () => {
    const process = await start("bomb() { bomb | bomb & }; bomb; sleep 63");
    await sleep(500);
    const refused = await sandbox.call("ps.start", { process: "prc_refused", command: "true" });
    if (refused.error !== undefined) expect(refused.code).toBe("PROCESS_LIMIT");
    await ask("ps.remove", { process });
    let text = "";
    for (let i = 0; i < 100 && text !== "alive\n"; i++) {
      await sleep(50);
      const next = await start("echo alive").catch(() => null);
      if (!next) continue;
      await ended(next);
      text = (await ask<ProcessOutput>("ps.output", { process: next, after: 0 })).entries
        .map((entry) => entry.text)
        .join("");
    }
    expect(text).toBe("alive\n");
  });

  it("that are shells of a terminal end when nobody looks at them for a while", async () => {
    const pty = { cols: 80, rows: 24 };
    const process = await start("exec sleep 64", { pty, linger_s: 0.3 });
    expect(await ended(process)).toMatchObject({ signal: 9, oom: false });
  });

  it("are written to once, however often the question comes", async () => {
    const process = await start("cat");
    const write = { process, data_b64: Buffer.from("once\n").toString("base64"), once: "write-1" };
    await Promise.all([ask("ps.stdin", write), ask("ps.stdin", write)]);
    await ask("ps.stdin", { process, eof: true });
    await ended(process);
    const { entries } = await ask<ProcessOutput>("ps.output", { process, after: 0 });
    expect(entries.map(({ text }) => text).join("")).toBe("once\n");
  });

  it("that do not read keep a bounded input", async () => {
    const process = await start("sleep 65");
    const data_b64 = Buffer.alloc(256 * 1024).toString("base64");
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push(await sandbox.call("ps.stdin", { process, data_b64 }));
    expect(answers.filter(({ code }) => code === "RATE_LIMITED").length).toBeGreaterThan(0);
    await ask("ps.remove", { process });
  });

  it("share 16 MiB for their output", async () => {
    const flood = "head -c 2000000 /dev/zero | tr '\\0' x";
    const all: string[] = [];
    for (let i = 0; i < 24; i++) {
      all.push(await start(flood));
      await ended(all.at(-1)!);
    }
    let kept = 0;
    for (const process of all) kept += 2_000_000 - (await get(process)).dropped_bytes;
    expect(kept).toBeLessThanOrEqual(16 * 1024 * 1024);
    for (const process of all) await ask("ps.remove", { process });
  });

  it("answer a bounded number of waiting readers, each when there is something", async () => {
    const process = await start("read -r line; echo $line");
    const waits = Array.from({ length: 33 }, () =>
      sandbox.call("ps.output", { process, after: 0, wait_ms: 20_000 }),
    );
    await sleep(100);
    await ask("ps.stdin", { process, data_b64: Buffer.from("go\n").toString("base64") });
    const answers = await Promise.all(waits);
    expect(answers.filter(({ code }) => code === "RATE_LIMITED")).toHaveLength(1);
    for (const { result, error } of answers)
      if (error === undefined) expect((result as ProcessOutput).entries[0]?.text).toBe("go\n");
  });

  it("never make the guest say what the daemon cannot read", () => {
    expect(sandbox.refused).toEqual([]);
    expect(sandbox.logs()).toBe("");
  });
});
