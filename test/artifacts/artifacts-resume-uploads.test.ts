import { beforeAll, beforeEach, expect, it } from "vitest";
import { expectTrue, listed, remaining } from "../fixtures/artifacts.ts";
import { type Fate, FaultProxy } from "../fixtures/fault-proxy.ts";
import { useStack } from "../fixtures/use-stack.ts";

const PART = 6 << 20;
const SIZE = 2 * PART + (1 << 20);
const CODE = `import os; open("/session/artifacts/large.bin", "wb").write(os.urandom(${SIZE}))`;
const PARTS = /^\/agent\/uploads\/parts$/;
const FINISH = /^\/agent\/uploads\/finish$/;
const START = /^\/agent\/uploads$/;

const proxy = new FaultProxy();
const { client } = useStack({ vars: { MAX_BODY_BYTES: String(PART) }, agentThrough: proxy });
let session: string;
beforeAll(async () => {
  session = (await client.create()).id;
});
beforeEach(() => {
  proxy.seen.length = 0;
});

it.each([
  ["the second part is cut in its middle", PARTS, 2, { cutAfter: 3 << 20 }, 4, 1],
  ["the last part never arrives", PARTS, 3, "lose", 4, 1],
  ["the first part's answer is lost", PARTS, 1, "deafen", 4, 1],
  ["the end never arrives", FINISH, 1, "lose", 3, 2],
  ["the end's answer is lost", FINISH, 1, "deafen", 3, 2],
] as [string, RegExp, number, Fate, number, number][])(
  "an upload goes on after the last part that arrived: %s",
  async (_, path, which, fate, parts, finishes) => {
    let count = 0;
    proxy.fate = (request) => (path.test(request.path) && ++count === which ? fate : "pass");
    const execution = await client.run(session, CODE);
    expect(execution).toMatchObject({ status: "ok", artifacts_skipped: [] });
    await expectTrue(execution.artifacts);
    expect([proxy.count(START), proxy.count(PARTS), proxy.count(FINISH)]).toEqual([1, parts, finishes]);
    expect(await remaining(client, session)).toEqual([]);
  },
);

it("each is listed once", async () => {
  const all = await listed(client, session);
  expect(all).toHaveLength(5);
  expect(new Set(all.map(({ sha256 }) => sha256)).size).toBe(5);
});
