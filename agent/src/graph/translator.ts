/**
 * What a graph streams, as the Platform's events. One graph mode may serve two of the Platform's: `messages-tuple` has
 * the parts of a message as they come, `messages` all that has come of it so far.
 *
 * @module
 */
import { type AIMessageChunk, type BaseMessage, BaseMessageChunk } from "@langchain/core/messages";
import type { ExecutionEvent } from "@sandbar/sdk";
import type { StreamMode } from "../api/shapes.ts";
import type { Images } from "../thread/images.ts";
import type { FreshIds } from "./fresh-ids.ts";
import { partToWire, toWire } from "./wire.ts";

export type Emit = (event: string, data: string) => void;

type GraphMode = "values" | "updates" | "messages" | "custom" | "debug" | "tasks" | "checkpoints";

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

export function graphModes(modes: readonly StreamMode[]): GraphMode[] {
  const wanted = new Set<GraphMode>();
  for (const mode of modes)
    if (mode === "messages-tuple") wanted.add("messages");
    else if (mode !== "events") wanted.add(mode);
  return [...wanted];
}

export interface TranslatorParts {
  readonly modes: readonly StreamMode[];
  readonly images: Images;
  readonly ids: FreshIds;
  readonly emit: Emit;
  /** `custom` events of the attempts before. */
  readonly said: readonly unknown[];
}

export class Translator {
  readonly #modes: ReadonlySet<StreamMode>;
  readonly #images: Images;
  readonly #ids: FreshIds;
  readonly #emit: Emit;
  /** Messages that were told in parts. */
  readonly #inParts = new Set<string>();
  /** Of `messages`: what has come of each, and who was told of it. */
  readonly #parts = new Map<string, BaseMessageChunk>();
  readonly #told = new Set<string>();
  /** How far each call's stream was told already: after a crash it is read from its beginning again. */
  readonly #heard = new Map<string, number>();

  constructor({ modes, images, ids, emit, said }: TranslatorParts) {
    this.#modes = new Set(modes);
    this.#images = images;
    this.#ids = ids;
    this.#emit = emit;
    for (const event of said) {
      const { tool_call_id, id } = event as { tool_call_id?: string; id?: string };
      if (tool_call_id && id) this.#heard.set(tool_call_id, Number(id));
    }
  }

  chunk(mode: string, payload: unknown): void {
    if (mode !== "messages") {
      this.#emit(mode, toWire(payload));
      return;
    }
    const [given, metadata] = payload as [BaseMessage, Record<string, unknown>];
    const message = this.#ids.renamed(String(metadata.langgraph_checkpoint_ns), given);
    const isPart = message instanceof BaseMessageChunk;
    const id = message.id ?? "";
    // LangGraph takes a message for another one when its id has changed, and readers would add it to its parts.
    if (this.#modes.has("messages-tuple") && (isPart || !this.#inParts.has(id)))
      this.#emit(`messages`, partToWire(message, metadata));
    if (isPart) this.#inParts.add(id);
    if (this.#modes.has("messages")) this.#whole(message, metadata);
  }

  #whole(message: BaseMessage, metadata: Record<string, unknown>): void {
    const id = message.id ?? "";
    if (!this.#told.has(id)) this.#emit(`messages/metadata`, toWire({ [id]: { metadata } }));
    this.#told.add(id);
    if (!(message instanceof BaseMessageChunk)) {
      this.#emit(`messages/complete`, toWire([message]));
      return;
    }
    const before = this.#parts.get(id);
    const sum = before ? (before as AIMessageChunk).concat(message as AIMessageChunk) : message;
    this.#parts.set(id, sum);
    this.#emit(`messages/partial`, toWire([sum]));
  }

  /** What the agent says beside the graph: retries, and code as it runs. */
  tell(event: Record<string, unknown>): void {
    if (this.#modes.has("custom")) this.#emit("custom", toWire(event));
  }

  execution(event: ExecutionEvent, call: { tool_call_id: string | undefined; session_id: string }): void {
    const key = call.tool_call_id ?? "";
    if (Number(event.id) <= (this.#heard.get(key) ?? 0)) return;
    this.#heard.set(key, Number(event.id));
    if (event.type === "finished") {
      const { id, status, language, duration_ms } = event.execution;
      this.tell({ type: "finished", ...call, id: event.id, execution_id: id, status, language, duration_ms });
      return;
    }
    const shown = event.type === "result" ? { ...event, data: this.#linked(event.data) } : event;
    this.tell({ ...call, ...shown });
  }

  /** A bundle with links for its pictures, which would make the stream long. */
  #linked(bundle: Record<string, unknown>): Record<string, unknown> {
    const linked: Record<string, unknown> = { ...bundle };
    for (const mime of PICTURES) {
      const data = bundle[mime];
      if (typeof data !== "string") continue;
      linked[mime] = null;
      linked.url = this.#images.keep({ mime, data: data.replace(/\s/g, "") });
    }
    return linked;
  }

  /** The state as it stands, so that clients drop what an interrupted call of the model had begun to say. */
  values(values: unknown): void {
    this.#parts.clear();
    if (this.#modes.has("values")) this.#emit("values", toWire(values));
  }
}
