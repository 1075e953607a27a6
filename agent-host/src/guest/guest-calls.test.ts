import { DETAIL_LIMIT_CHARS, failureOf, type GuestCall, type GuestMessage } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { FileCalls } from "../files/file-calls.ts";
import { GuestCalls } from "./guest-calls.ts";
import { TransferSockets } from "./transfer-sockets.ts";

type Answer = Extract<GuestMessage, { type: "answer" }>;

/** A fake guest that answers each question with this. */
function answering(answer: Omit<Answer, "type" | "id">): GuestCalls {
  const calls: GuestCalls = new GuestCalls((message) => {
    if (message.type === "call")
      queueMicrotask(() => calls.onAnswer({ type: "answer", id: message.id, ...answer }));
    return true;
  }, 1000);
  return calls;
}

const failed = (asked: Promise<unknown>) =>
  asked.then(
    () => expect.unreachable("it was believed"),
    (error: unknown) => failureOf(error, "HOST_ERROR"),
  );

describe("a hostile guest's answer", () => {
  it("makes a short failure, however long it is", async () => {
    const junk = Array.from({ length: 12_000 }, () => ({ name: 1, path: null, junk: "x".repeat(100) }));
    const files = new FileCalls(null as never, [], null as never);
    for (const answer of [
      { result: { entries: junk, next_cursor: 7 } },
      { result: junk },
      { result: "x".repeat(3_000_000) },
      { error: "x".repeat(3_000_000), code: "x".repeat(3_000_000) },
    ]) {
      const calls = answering(answer);
      const call: GuestCall = (...question) => calls.call(...question);
      const failure = await failed(
        files.calls["files.list"]({ call, transfers: new TransferSockets() }, { path: "." }),
      );
      expect(failure.code).toBe("HOST_ERROR");
      expect(failure.detail.length).toBeLessThanOrEqual(DETAIL_LIMIT_CHARS);
      expect(JSON.stringify(failure).length).toBeLessThan(2 * DETAIL_LIMIT_CHARS);
    }
  });
});
