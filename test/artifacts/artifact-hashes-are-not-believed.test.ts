/**
 * A guest says the hashes of small artifacts, so that they can be asked about while they are read. Here it errs or lies:
 * the real ingestion with the host's own key against the real control plane, over a folder whose entries have such hashes.
 *
 * @module
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArtifactIngest } from "@sandbar/agent-host/src/artifacts/artifact-ingest.ts";
import { LeftArtifacts } from "@sandbar/agent-host/src/artifacts/left-artifacts.ts";
import { SignedRequests } from "@sandbar/agent-host/src/control-plane/signed-requests.ts";
import { readIdentity } from "@sandbar/agent-host/src/host/identity.ts";
import { createLog } from "@sandbar/agent-host/src/host/log.ts";
import { afterEach, beforeEach, expect, it } from "vitest";
import { bytesOf, listed } from "../fixtures/artifacts.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack, client } = useStack();

let session: string;
let folder: string;
let asked: string[];
let sent: number;

beforeEach(async () => {
  session = (await client.create()).id;
  folder = mkdtempSync(join(tmpdir(), "sandbar-said-"));
  mkdirSync(join(folder, "artifacts"));
  asked = [];
  sent = 0;
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await client.stop(session);
});

class Watched extends SignedRequests {
  override request(...given: Parameters<SignedRequests["request"]>): Promise<unknown> {
    const [, method, path, body] = given;
    asked.push(`${method} ${path}`);
    if (Array.isArray(body)) for (const part of body.slice(1) as Buffer[]) sent += part.length;
    return super.request(...given);
  }
}

/** Takes these files, of which the guest said these hashes. */
async function take(files: Record<string, { bytes: string; said?: string }>): Promise<string> {
  for (const [name, { bytes }] of Object.entries(files))
    writeFileSync(join(folder, "artifacts", name), bytes);
  const left = new LeftArtifacts(folder);
  const entries = (await left.scan()).map((entry) => ({
    ...entry,
    sha256: files[Buffer.from(entry.path_b64, "base64").toString()]!.said,
  }));
  const ingest = new ArtifactIngest({
    plane: new Watched(stack.url, readIdentity(stack.home)!),
    giveUpMs: 5_000,
    log: createLog("silent"),
    linked: () => true,
  });
  const owner = { row: { id: session, tenant: "default" } };
  const words = await ingest.takeLeft(owner, left, entries, new AbortController().signal);
  await expect.poll(() => readdirSync(join(folder, "artifacts"))).toEqual([]);
  return words;
}

const honest = (bytes: string) => ({ bytes, said: sha256(bytes) });

async function expectTaken(files: Record<string, { bytes: string }>): Promise<void> {
  const taken = new Map<string, string>();
  for (const artifact of await listed(client, session)) {
    const bytes = await bytesOf(artifact);
    expect(artifact.sha256).toBe(sha256(bytes));
    taken.set(artifact.name, bytes.toString());
  }
  const wanted = Object.entries(files).map(([name, { bytes }]) => [name, bytes] as const);
  expect([...taken].sort()).toEqual(wanted.sort());
}

const CHECK = "POST /agent/artifacts/check";
const RECORD = "PUT /agent/artifacts";

it("true ones are asked about once, and known content is not sent", async () => {
  const first = { "a.txt": honest("said truly"), "b.txt": honest("also") };
  await take(first);
  expect([asked, sent]).toEqual([[CHECK, RECORD], 14]);
  await expectTaken(first);
  const again = { "c.txt": honest("said truly") };
  await take(again);
  expect([asked.slice(2), sent]).toEqual([[CHECK, RECORD], 14]);
  await expectTaken({ ...first, ...again });
});

it("false ones cost a second question, also when they name content that is there", async () => {
  const known = { "known.txt": honest("known content") };
  await take(known);
  for (const said of [sha256("known content"), sha256("content of nobody")]) {
    asked = [];
    const files = { [`lie-${said.slice(0, 4)}.txt`]: { bytes: `other content ${said}`, said } };
    await take(files);
    expect(asked).toEqual([CHECK, CHECK, RECORD]);
    Object.assign(known, files);
    await expectTaken(known);
  }
});

it("one that is missing, or false, among true ones spoils them all", async () => {
  const files = { a: honest("one"), b: { bytes: "two" }, c: honest("three") };
  await take(files);
  expect(asked).toEqual([CHECK, RECORD]);
  const more = { d: honest("four"), e: { bytes: "five", said: sha256("six") }, f: honest("seven") };
  await take(more);
  expect(asked.slice(2)).toEqual([CHECK, CHECK, RECORD]);
  await expectTaken({ ...files, ...more });
});

it("a question that fails is asked again when the files have been read", async () => {
  const file = { "patient.txt": honest("patience") };
  let failures = 1;
  const request = SignedRequests.prototype.request;
  SignedRequests.prototype.request = function (this: SignedRequests, ...given) {
    if (failures-- > 0) return Promise.reject(new Error("lost on its way"));
    return request.apply(this, given);
  };
  try {
    expect(await take(file)).toBe("1 of its artifacts were saved");
  } finally {
    SignedRequests.prototype.request = request;
  }
  expect(asked).toEqual([CHECK, CHECK, RECORD]);
  await expectTaken(file);
});
