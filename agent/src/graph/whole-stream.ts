/**
 * Answers of providers, held to what one can rely on. Streams that end without saying so were cut on their way: the
 * packages take what has come for all that there is, and a cut answer would stand in the thread as if it were the whole
 * one. One that falls silent, or never ends, would hold its run for ever.
 *
 * @module
 */

/** How the wires of OpenAI, Anthropic and Google say that they have said everything. */
const END = /\[DONE\]|"finish_reason": ?"|"type": ?"message_stop"|"finishReason": ?"/;
/** Longer than any of these, so that one that two chunks share is found. */
const CARRY_CHARS = 32;
const MAX_BYTES = 32 * 1024 * 1024;
/** Models that think may say nothing for minutes. */
const SILENCE_MS = 5 * 60_000;

export function wholeStream(
  response: Response,
  { maxBytes = MAX_BYTES, silenceMs = SILENCE_MS } = {},
): Response {
  if (!response.body) return response;
  const streamed = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const decoder = new TextDecoder();
  let [carry, ended, bytes] = ["", !streamed, 0];
  let silence: ReturnType<typeof setTimeout> | undefined;
  const fail = (controller: TransformStreamDefaultController, message: string) => {
    clearTimeout(silence);
    controller.error(new Error(message));
  };
  const listen = (controller: TransformStreamDefaultController) => {
    clearTimeout(silence);
    silence = setTimeout(() => fail(controller, "the stream fell silent"), silenceMs);
  };
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    start: listen,
    transform(chunk, controller) {
      listen(controller);
      bytes += chunk.byteLength;
      if (bytes > maxBytes) return fail(controller, `The model's answer is longer than ${maxBytes} bytes`);
      if (!ended) {
        const text = carry + decoder.decode(chunk, { stream: true });
        ended = END.test(text);
        carry = text.slice(-CARRY_CHARS);
      }
      controller.enqueue(chunk);
    },
    flush(controller) {
      clearTimeout(silence);
      if (!ended) controller.error(new Error("the stream was cut off"));
    },
    cancel: () => clearTimeout(silence),
  } as Transformer<Uint8Array, Uint8Array>);
  return new Response(response.body.pipeThrough(watch), response);
}
