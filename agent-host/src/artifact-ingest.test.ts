import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SMALL_BLOB_BYTES } from "@sandbar/shared";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ArtifactIngest } from "./artifact-ingest.ts";
import type { Identity } from "./identity.ts";
import { LeftArtifacts } from "./left-artifacts.ts";
import { createLog } from "./log.ts";
import { SignedRequests } from "./signed-requests.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandbar-ingest-"));
  mkdirSync(join(folder, "artifacts"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const identity = {
  host_id: "hst_nobody",
  name: "nobody",
  // Nobody listens there.
  url: "http://127.0.0.1:1",
  private_key: generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }),
} as Identity;

it("a control plane that is down is waited for once, however many files there are", async () => {
  const names = ["one", "two", "three"];
  // Each too large for a bundle with the others.
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
    plane: new Watched(identity.url, identity),
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
