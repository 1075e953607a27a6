import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ArtifactEntry, SMALL_BLOB_BYTES } from "@sandbar/shared";
import { afterAll, beforeAll, expect, it } from "vitest";
import { SignedRequests } from "../control-plane/signed-requests.ts";
import { TransferSockets } from "../guest/transfer-sockets.ts";
import type { Identity } from "../host/identity.ts";
import { createLog } from "../host/log.ts";
import { ArtifactIngest, type IngestSession } from "./artifact-ingest.ts";
import { LeftArtifacts } from "./left-artifacts.ts";

const identity = {
  host_id: "hst_nobody",
  private_key: generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }),
} as Identity;
/** Nobody listens there. */
const NOWHERE = "http://127.0.0.1:1";

const folder = mkdtempSync(join(tmpdir(), "sandbar-artifact-ingest-"));
const channel = net.createServer();
beforeAll(() => once(channel.listen(join(folder, "daemon.sock")), "listening"));
afterAll(() => {
  channel.close();
  rmSync(folder, { recursive: true });
});

/** In an image of its own a tenant's guest may be anything. This fake one dials, or does not, and then takes its time. */
function fakeGuest(dials: boolean): IngestSession {
  const artifactTransfers = new TransferSockets();
  return {
    row: { id: "ses_x", tenant: "default" },
    transfers: new TransferSockets(),
    artifactTransfers,
    async call(_method, { transfer }) {
      if (!dials) return new Promise<never>(() => {});
      const accepted = once(channel, "connection");
      const dribbling = net.connect(join(folder, "daemon.sock"));
      dribbling.write('{"size":1000}\n');
      const more = setInterval(() => dribbling.write("x"), 50);
      dribbling.on("error", () => {}).on("close", () => clearInterval(more));
      artifactTransfers.attach(transfer as string, (await accepted)[0] as net.Socket);
      return {} as never;
    },
  };
}

const entry: ArtifactEntry = {
  path_b64: Buffer.from("a").toString("base64"),
  size: 1000,
  mtime_ns: "1",
  ctime_ns: "1",
  kind: "file",
};

it.each([
  ["sends its files byte by byte", true],
  ["never begins to send them", false],
])("a guest that %s does not keep its session from ending", async (_, dials) => {
  const plane = new SignedRequests(NOWHERE, identity);
  const ingest = new ArtifactIngest({ plane, giveUpMs: 1000, log: createLog("silent"), linked: () => true });
  const leaving = new AbortController();
  const session = fakeGuest(dials);
  const taken = ingest.take(session, null, [entry], leaving.signal);
  await sleep(200);
  leaving.abort();
  expect(await taken).toEqual({
    artifacts: [],
    artifacts_skipped: [{ name: "a", reason: "left for the next execution: the session ended first" }],
  });
  await expect.poll(() => session.artifactTransfers.size).toBe(0);
});

it("a control plane that is down is waited for once, however many files there are", async () => {
  const names = ["one", "two", "three"];
  // Each too large for a bundle with the others.
  mkdirSync(join(folder, "artifacts"));
  for (const name of names)
    writeFileSync(join(folder, "artifacts", name), Buffer.alloc(SMALL_BLOB_BYTES + 1));
  const asked: string[] = [];
  class Watched extends SignedRequests {
    override request(...given: Parameters<SignedRequests["request"]>): Promise<unknown> {
      asked.push((given[3] as { files: { name: string }[] }).files[0]!.name);
      return super.request(...given);
    }
  }
  const ingest = new ArtifactIngest({
    plane: new Watched(NOWHERE, identity),
    giveUpMs: 100,
    log: createLog("silent"),
    linked: () => true,
  });
  const left = new LeftArtifacts(folder);
  const owner = { row: { id: "ses_1", tenant: "default" } };
  const words = await ingest.takeLeft(owner, left, await left.scan(), new AbortController().signal);
  expect(words).toBe("0 of its artifacts were saved, 3 were not");
  const [first, ...others] = [...new Set(asked)];
  const attempts = (wanted?: string) => asked.filter((name) => name === wanted).length;
  expect(attempts(first)).toBeGreaterThan(1);
  expect(others.map(attempts)).toEqual([1, 1]);
  expect(readdirSync(join(folder, "artifacts")).sort()).toEqual(names.sort());
});
