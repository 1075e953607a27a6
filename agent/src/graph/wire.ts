/** @module Values of a graph as the Platform's clients know them: messages are plain objects with a `type`. */
import { BaseMessage, BaseMessageChunk } from "@langchain/core/messages";

/** Of the agent's own, and nobody else's business. */
const PRIVATE = "_steps";

/** JSON of anything that a graph gives. */
export function toWire(value: unknown): string {
  return JSON.stringify(value, replaced) ?? "null";
}

/** A part of a message is told from a whole one by its type, as the Platform does. */
export function partToWire(part: BaseMessage, metadata: unknown): string {
  const whole = message(part);
  const type = part instanceof BaseMessageChunk && whole.type === "ai" ? "AIMessageChunk" : whole.type;
  return toWire([{ ...whole, type }, metadata]);
}

function replaced(this: unknown, key: string, value: unknown): unknown {
  if (key === PRIVATE) return undefined;
  // JSON.stringify has called toJSON already; what was there before is with its holder.
  const raw = (this as Record<string, unknown>)[key];
  if (BaseMessage.isInstance(raw)) return message(raw);
  if (raw instanceof Error) return { error: raw.name, message: raw.message };
  return value;
}

function message(given: BaseMessage): Record<string, unknown> {
  const { type, data } = given.toDict() as unknown as { type: string; data: Record<string, unknown> };
  return { ...data, id: given.id, type };
}
