/**
 * Streams of providers that end without saying so were cut on their way. The packages take what has come for all that
 * there is, and a cut answer would stand in the thread as if it were the whole one.
 *
 * @module
 */

/** How the wires of OpenAI and Anthropic say that they have said everything. */
const END = /\[DONE\]|"finish_reason": ?"|"type": ?"message_stop"/;
/** Longer than any of these, so that one that two chunks share is found. */
const CARRY_CHARS = 32;

export function wholeStream(response: Response): Response {
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream"))
    return response;
  const decoder = new TextDecoder();
  let [carry, ended] = ["", false];
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = carry + decoder.decode(chunk, { stream: true });
      ended ||= END.test(text);
      carry = text.slice(-CARRY_CHARS);
      controller.enqueue(chunk);
    },
    flush(controller) {
      if (!ended) controller.error(new Error("the stream was cut off"));
    },
  });
  return new Response(response.body.pipeThrough(watch), response);
}
