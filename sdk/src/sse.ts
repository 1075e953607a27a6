/** @module Server-sent events from a fetch response. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { networkError } from "./errors.ts";

/** The server sends a comment every 15 s; a connection that is silent for three times that is dead. */
const SILENCE_LIMIT_MS = 45_000;

export interface ServerEvent {
  id: string | undefined;
  event: string;
  data: string;
}

/** Yields until the stream ends. A cut or silent connection throws NETWORK_ERROR. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  silenceLimitMs = SILENCE_LIMIT_MS,
): AsyncGenerator<ServerEvent> {
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => ready.push(event) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let ended = false;
  try {
    while (!ended) {
      const chunk = await readWithin(reader, silenceLimitMs);
      ended = chunk.done;
      parser.feed(decoder.decode(chunk.value, { stream: !chunk.done }));
      for (const { id, event, data } of ready.splice(0)) yield { id, event: event ?? "message", data };
    }
  } finally {
    if (!ended) await reader.cancel().catch(() => {});
  }
}

async function readWithin(reader: ReadableStreamDefaultReader<Uint8Array>, limitMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (error) {
    throw networkError(error, "the event stream was cut off");
  } finally {
    clearTimeout(timer!);
  }
}
