/** @module Answers that take longer than anybody on the way would wait for a first byte. */
import type { Failure } from "@sandbar/shared";
import { failureOf } from "../problem.ts";
import { within } from "../read-within.ts";

const FIRST_MS = 10_000;
const EVERY_MS = 10_000;

/**
 * What the work comes to, if it comes soon; else an answer that begins now: white space while the work goes on, then `{}`
 * or the problem, whose status can no longer be the answer's own.
 */
export async function patientAnswer(
  work: Promise<void>,
  problemOf: (failure: Failure) => object,
  requestId: string,
  firstMs = FIRST_MS,
  everyMs = EVERY_MS,
): Promise<ReadableStream<Uint8Array> | null> {
  const done = work.then(() => true);
  if (await within(done, firstMs)) return null;
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | null = null;
  const stop = () => {
    if (timer !== null) clearInterval(timer);
  };
  return new ReadableStream({
    start(controller) {
      const end = (document: object) => {
        stop();
        controller.enqueue(encoder.encode(JSON.stringify(document)));
        controller.close();
      };
      timer = setInterval(() => controller.enqueue(encoder.encode(" ")), everyMs);
      work
        .then(
          () => end({}),
          (error: unknown) => end(problemOf(failureOf(error, requestId))),
        )
        .catch(() => {});
    },
    cancel: stop,
  });
}
