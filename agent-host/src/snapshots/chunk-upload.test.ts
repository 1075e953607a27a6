import { type Chunk, SNAPSHOT_CHUNK_LIMIT } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { Patience } from "../control-plane/patience.ts";
import type { SignedRequests } from "../control-plane/signed-requests.ts";
import { ChunkUpload } from "./chunk-upload.ts";

/** A control plane that has every chunk already. */
function upload() {
  const asked: Chunk[] = [];
  const plane = {
    request: async (_claim: unknown, _method: string, _path: string, { chunks }: { chunks: Chunk[] }) => {
      asked.push(...chunks);
      return { missing: [] };
    },
  } as unknown as SignedRequests;
  const { signal } = new AbortController();
  const target = { tenant: "test", session: "ses_a", snapshot: "snp_a" };
  return { upload: new ChunkUpload(plane, target, new Patience(1000, () => true, signal), signal), asked };
}

/** Small ones: real chunks would take gigabytes to come to the limit. */
async function* same(count: number) {
  for (let i = 0; i < count; i++) yield Buffer.from("same");
}

describe("the chunks of a snapshot", () => {
  it("are asked about once each, and counted however often they come, in all of its streams", async () => {
    const { upload: chunks, asked } = upload();
    const { size } = await chunks.addChunks(same(SNAPSHOT_CHUNK_LIMIT - 1));
    expect(size).toBe(4 * (SNAPSHOT_CHUNK_LIMIT - 1));
    await chunks.addChunks(same(1));
    await chunks.finish();
    expect(asked).toHaveLength(1);
    await expect(chunks.addChunks(same(1))).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  });

  it("come to an end where a sparse file has none", async () => {
    const { upload: chunks } = upload();
    await expect(chunks.addChunks(same(Number.POSITIVE_INFINITY))).rejects.toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("sparse"),
    });
  });
});
