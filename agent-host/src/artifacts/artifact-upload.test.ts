import { Readable } from "node:stream";
import { toProblem } from "@sandbar/shared";
import { expect, it } from "vitest";
import { Unreachable } from "../control-plane/signed-requests.ts";
import { type Upload, uploadLarge } from "./artifact-upload.ts";

/** A fake control plane, whose verification comes to this. */
function upload(verified: unknown): Promise<void> {
  const answers: Record<string, unknown> = {
    "/agent/uploads": { upload: "u", key: "k", part_bytes: 10, urls: null },
    "/agent/uploads/parts": { etag: "e" },
    "/agent/uploads/finish": verified,
    "/agent/uploads/abort": null,
  };
  const request = async (_claim: unknown, _method: string, path: string) => answers[path.split("?")[0]!];
  const to = {
    plane: { request } as unknown as Upload["plane"],
    target: { tenant: "t", session: "s", execution: null, taken: 0 },
    signal: new AbortController().signal,
    untilAnswered: <T>(attempt: () => Promise<T>) => attempt(),
  };
  const content = async (_offset: number, length: number) => Readable.from([Buffer.alloc(length)]);
  const file = { name: "n", mime: "text/plain", size: 15, sha256: "0".repeat(64), version: "1", content };
  return uploadLarge(to, file, 0);
}

it("a verification that fails after its answer has begun is a failure all the same", async () => {
  const problem = (code: "VALIDATION_FAILED" | "STORE_UNAVAILABLE") =>
    toProblem({ code, detail: "late" }, "req_1");
  await upload(null);
  await upload({});
  await expect(upload(problem("VALIDATION_FAILED"))).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  await expect(upload(problem("STORE_UNAVAILABLE"))).rejects.toBeInstanceOf(Unreachable);
});
