/**
 * @module Promise 4: whatever fails while artifacts are on their way, every listed one re-hashes to its id, none is
 * lost, none appears twice.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { expectTrue, listed, remaining } from "../fixtures/artifacts.ts";
import { type Fate, FaultProxy } from "../fixtures/fault-proxy.ts";
import { onD1, strayFiles } from "../fixtures/local-storage.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";
const proxy = new FaultProxy();
const { stack, client } = useStack({
  vars: { HEARTBEAT_MS: "500" },
  agentEnv: { SANDBAR_INGEST_GIVE_UP_MS: "8000" },
  agentThrough: proxy,
});
let session: string;

beforeEach(async () => {
  proxy.fate = () => "pass";
  session = (await client.create()).id;
});
afterEach(() => client.stop(session));

const RECORD = /^\/agent\/artifacts$/;
const CHECK = /^\/agent\/artifacts\/check$/;
const BLOB = /^\/agent\/blobs\//;

const SMALL = `for i in range(20): open(f"${A}/{i}.txt", "w").write(f"small {i}")`;
const LARGE = `import os; open("${A}/large.bin", "wb").write(os.urandom(20 << 20))`;

/** The first request to the path meets this fate, the others pass. */
function once(path: RegExp, fate: Fate, then: () => void = () => {}): void {
  let met = false;
  proxy.fate = (request) => {
    if (met || !path.test(request.path)) return "pass";
    met = true;
    then();
    return fate;
  };
}

async function expectExactly(names: string[]): Promise<void> {
  const all = await listed(client, session);
  expect(all.map(({ name }) => name).sort()).toEqual(names.toSorted());
  await expectTrue(all);
  expect(await remaining(client, session)).toEqual([]);
}

const SMALL_NAMES = Array.from({ length: 20 }, (_, i) => `${i}.txt`);

it.each([
  ["a check that never arrives", SMALL, CHECK, "lose", SMALL_NAMES],
  ["a check whose answer is lost", SMALL, CHECK, "deafen", SMALL_NAMES],
  ["a record that never arrives", SMALL, RECORD, "lose", SMALL_NAMES],
  ["a record whose answer is lost", SMALL, RECORD, "deafen", SMALL_NAMES],
  ["a bundle cut in its first bytes", SMALL, RECORD, { cutAfter: 0 }, SMALL_NAMES],
  ["a large upload cut at its start", LARGE, BLOB, { cutAfter: 0 }, ["large.bin"]],
  ["a large upload cut in the middle", LARGE, BLOB, { cutAfter: 10 << 20 }, ["large.bin"]],
  ["a large upload cut near its end", LARGE, BLOB, { cutAfter: (20 << 20) - 70_000 }, ["large.bin"]],
  ["a large upload whose answer is lost", LARGE, BLOB, "deafen", ["large.bin"]],
] as const)("%s costs nothing", async (_, code, path, fate, names) => {
  once(path, fate);
  const execution = await client.run(session, code);
  expect(execution).toMatchObject({ status: "ok", artifacts_skipped: [] });
  expect(execution.artifacts.map(({ name }) => name).sort()).toEqual(names.toSorted());
  await expectExactly([...names]);
});

it.each([
  ["before it asks", SMALL, CHECK, "lose", SMALL_NAMES],
  ["between upload and record", LARGE, RECORD, "lose", ["large.bin"]],
  ["in the middle of an upload", LARGE, BLOB, { cutAfter: 5 << 20 }, ["large.bin"]],
  ["after the record, before the removal", SMALL, RECORD, "deafen", SMALL_NAMES],
] as const)("a daemon killed %s begins again where it was", async (_, code, path, fate, names) => {
  const killed = new Promise<void>((resolve) =>
    once(path, fate, () => setTimeout(() => void stack.killAgent().then(() => resolve()), 100)),
  );
  const { id } = await client.start(session, code);
  await killed;
  proxy.fate = () => "pass";
  await stack.startAgent({ wait: false });
  const execution = await client.finished(session, id);
  expect(execution).toMatchObject({ status: "ok", artifacts_skipped: [] });
  expect(execution.artifacts.map(({ name }) => name).sort()).toEqual(names.toSorted());
  expect(execution.artifacts.every(({ execution_id }) => execution_id === id)).toBe(true);
  await stack.waitForHost("online");
  await expectExactly([...names]);
});

it.each([
  ["a check", SMALL, CHECK, SMALL_NAMES],
  ["an upload into R2", LARGE, BLOB, ["large.bin"]],
  ["a record in D1", SMALL, RECORD, SMALL_NAMES],
] as const)(
  "a control plane that dies during %s gets everything when it is back",
  async (_, code, path, names) => {
    const dead = new Promise<void>((resolve) =>
      once(
        path,
        { hold: new Promise((go) => setTimeout(go, 100)) },
        () => void stack.killServer().then(() => resolve()),
      ),
    );
    const { id } = await client.start(session, code);
    await dead;
    await stack.startServer();
    const execution = await client.finished(session, id);
    expect(execution).toMatchObject({ status: "ok", artifacts_skipped: [] });
    await stack.waitForHost("online");
    await expectExactly([...names]);
  },
);

/** Runs a command beside the cell that is about to end. */
async function toItsEnd(command: string): Promise<void> {
  const path = `/v1/sessions/${session}/processes`;
  const { id } = await client.ok<{ id: string }>("POST", path, { command });
  for await (const { event } of client.events(`${path}/${id}/events`)) if (event === "exit") return;
}

it("a large file that became shorter before it was sent is left for the next execution, at once", async () => {
  const shortened = Promise.withResolvers<void>();
  const shorten = () => {
    const command = `truncate -s 5000000 ${A}/large.bin`;
    void toItsEnd(command).then(shortened.resolve, shortened.reject);
  };
  once(CHECK, { hold: shortened.promise }, shorten);
  const execution = await client.run(session, LARGE);
  expect(execution.artifacts_skipped).toEqual([
    { name: "large.bin", reason: "left for the next execution: the file became shorter" },
  ]);
  const next = await client.run(session, "1");
  expect(next.artifacts).toMatchObject([{ name: "large.bin", size: 5_000_000 }]);
  await expectExactly(["large.bin"]);
});

it("a large file that was rewritten before it was sent leaves nothing in the store but what it is now", async () => {
  // Uploads that were cut may have left some.
  const stray = strayFiles(stack).length;
  const rewritten = Promise.withResolvers<void>();
  const rewrite = () => {
    const command = `dd if=/dev/urandom of=${A}/large.bin bs=1M count=1 conv=notrunc`;
    void toItsEnd(command).then(rewritten.resolve, rewritten.reject);
  };
  once(CHECK, { hold: rewritten.promise }, rewrite);
  const execution = await client.run(session, LARGE);
  expect(execution.artifacts_skipped).toMatchObject([{ name: "large.bin" }]);
  expect((await client.run(session, "1")).artifacts).toMatchObject([{ name: "large.bin" }]);
  await expectExactly(["large.bin"]);
  await eventually("nothing is stray", 5_000, () => strayFiles(stack).length <= stray);
});

it("a daemon killed while it exports a folder leaves nothing of it on the host's disk", async () => {
  await client.run(
    session,
    `import os; os.mkdir("/session/f"); open("/session/f/x", "wb").write(os.urandom(5 << 20))`,
  );
  const killed = new Promise<void>((resolve) =>
    once(BLOB, "lose", () => void stack.killAgent().then(() => resolve())),
  );
  const answer = client.call("POST", `/v1/sessions/${session}/export`, { files: [{ source: "f" }] });
  await killed;
  const spool = join(stack.home, "spool");
  expect(readdirSync(spool)).toHaveLength(1);
  await stack.startAgent();
  await eventually("it is gone", 10_000, () => !existsSync(spool) || readdirSync(spool).length === 0);
  await answer;
});

it("while D1 fails the execution ends all the same, and the next one takes the files", async () => {
  const rename = (from: string, to: string) =>
    onD1(stack, (db) => db.exec(`ALTER TABLE ${from} RENAME TO ${to}`));
  rename("blobs", "blobs_away");
  const execution = await client.run(session, SMALL);
  rename("blobs_away", "blobs");
  expect(execution).toMatchObject({ status: "ok", artifacts: [] });
  expect(execution.artifacts_skipped).toHaveLength(20);
  expect(execution.artifacts_skipped[0]!.reason).toMatch(/^left for the next execution: INTERNAL/);
  const next = await client.run(session, "1");
  expect(next.artifacts).toHaveLength(20);
  await expectExactly(SMALL_NAMES);
});

it("an answer that is lost until the daemon gives up does not record the files twice", async () => {
  proxy.fate = ({ path }) => (RECORD.test(path) ? "deafen" : "pass");
  const execution = await client.run(session, SMALL);
  expect(execution.artifacts).toEqual([]);
  expect(execution.artifacts_skipped).toHaveLength(20);
  proxy.fate = () => "pass";
  await client.run(session, "1");
  await expectExactly(SMALL_NAMES);
});

it("a stop whose daemon is killed still takes what was left", async () => {
  const other = (await client.create()).id;
  await client.run(other, `f = open("${A}/held.txt", "w"); f.write("held"); f.flush()`);
  const killed = new Promise<void>((resolve) =>
    once(CHECK, "lose", () => setTimeout(() => void stack.killAgent().then(() => resolve()), 50)),
  );
  const stopping = client.stop(other);
  await killed;
  proxy.fate = () => "pass";
  await stack.startAgent();
  await stopping;
  await eventually("stopped", 30_000, async () => {
    const { status } = await client.ok<{ status: string }>("GET", `/v1/sessions/${other}`);
    return status === "stopped";
  });
  const all = await listed(client, other);
  expect(all.map(({ name }) => name)).toEqual(["held.txt"]);
  await expectTrue(all);
});
