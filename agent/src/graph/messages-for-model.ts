/**
 * A thread's messages as one model can read them: pictures only for models that see, and where they may stand; calls
 * whose answer never came get one, since providers refuse a conversation in which it is missing.
 *
 * @module
 */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { StoredImage } from "../thread/images.ts";
import type { Wire } from "./models.ts";
import { inStrictOrder } from "./strict-order.ts";

export interface Reader {
  readonly wire: Wire;
  readonly sees: boolean;
  readonly seesInTools: boolean;
  readonly strictOrder: boolean;
  /** The picture behind a link of the thread's state. */
  find(url: string): StoredImage | null;
}

/** The newest ones; older pictures were seen when they were new. */
const MAX_IMAGES = 8;

type Block = { type: string; text?: string; image_url?: string | { url: string } };

export function messagesFor(messages: readonly BaseMessage[], reader: Reader): BaseMessage[] {
  const complete = withAnswers(messages).map((message) => translated(message, reader.wire));
  let left = MAX_IMAGES;
  // From the end, so that the newest pictures are the ones that are shown.
  const shaped = complete.toReversed().map((message) => {
    const { kept, pictures } = shape(message, reader, left);
    left -= pictures.length;
    return { message: kept, pictures };
  });
  const ordered = afterTheirTools(shaped.reverse());
  return reader.strictOrder ? inStrictOrder(ordered) : ordered;
}

/** Which wire an answer came over: its blocks are nothing that another one would take. */
export const WIRE_MARK = "sandbar_wire";

function translated(message: BaseMessage, wire: Wire): BaseMessage {
  if (AIMessage.isInstance(message)) {
    const from = message.response_metadata?.[WIRE_MARK];
    const { id, text, tool_calls } = message;
    if (from !== wire && Array.isArray(message.content))
      return new AIMessage({ id, content: text, tool_calls });
  }
  // Groq refuses names, and nobody who speaks OpenAI's protocol needs them.
  return wire === "openai" && message.name !== undefined ? nameless(message) : message;
}

function nameless(message: BaseMessage): BaseMessage {
  const copy = Object.create(Object.getPrototypeOf(message), Object.getOwnPropertyDescriptors(message));
  copy.name = undefined;
  return copy;
}

function shape(message: BaseMessage, reader: Reader, left: number): { kept: BaseMessage; pictures: Block[] } {
  if (!Array.isArray(message.content)) return { kept: message, pictures: [] };
  const blocks = message.content as Block[];
  if (!blocks.some(isPicture)) return { kept: message, pictures: [] };
  const apart = ToolMessage.isInstance(message) && !reader.seesInTools;
  const pictures: Block[] = [];
  const kept: Block[] = [];
  // From the end here too.
  for (const block of blocks.toReversed()) {
    if (!isPicture(block)) {
      kept.push(block);
      continue;
    }
    const url = urlOf(block);
    const image = reader.find(url);
    const shown = image ? `data:${image.mime};base64,${image.data}` : url.startsWith("data:") ? url : null;
    const about = `[a picture${image ? `, ${image.mime} of ${Math.round((image.data.length * 3) / 4)} bytes` : ""}`;
    if (!reader.sees) kept.push(text(`${about}: you cannot see pictures, but the user can]`));
    else if (!shown) kept.push(text(`${about} that is not there any more]`));
    else if (pictures.length >= left) kept.push(text(`${about} that was shown earlier]`));
    else {
      const picture = { type: "image_url", image_url: { url: shown } };
      pictures.push(picture);
      if (apart) kept.push(text("[a picture, shown below]"));
      else kept.push(picture);
    }
  }
  return { kept: withContent(message, kept.reverse()), pictures: apart ? pictures.reverse() : [] };
}

/** OpenAI's protocol has pictures in the user's messages only, and a call's answers must not be parted. */
function afterTheirTools(shaped: { message: BaseMessage; pictures: Block[] }[]): BaseMessage[] {
  const result: BaseMessage[] = [];
  let waiting: Block[] = [];
  const show = () => {
    if (waiting.length === 0) return;
    const said = text(
      waiting.length === 1 ? "The picture of the result above:" : "The pictures of the results above:",
    );
    result.push(new HumanMessage({ content: [said, ...waiting] as never }));
    waiting = [];
  };
  for (const { message, pictures } of shaped) {
    if (!ToolMessage.isInstance(message)) show();
    result.push(message);
    waiting.push(...pictures);
  }
  show();
  return result;
}

function withAnswers(messages: readonly BaseMessage[]): BaseMessage[] {
  const answered = new Set(
    messages.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])),
  );
  return messages.flatMap((message) => {
    if (!AIMessage.isInstance(message)) return [message];
    const open = (message.tool_calls ?? []).filter(({ id }) => id !== undefined && !answered.has(id));
    const answers = open.map(
      ({ id, name }) =>
        new ToolMessage({ tool_call_id: id!, name, content: "[cancelled before it ended]", status: "error" }),
    );
    return [message, ...answers];
  });
}

function withContent(message: BaseMessage, blocks: Block[]): BaseMessage {
  const content = blocks.every(({ type }) => type === "text")
    ? blocks.map(({ text = "" }) => text).join("\n")
    : blocks;
  if (ToolMessage.isInstance(message)) {
    const { tool_call_id, name, id, status } = message;
    return new ToolMessage({ tool_call_id, name, id, status, content: content as string });
  }
  const Kind = message.constructor as new (fields: object) => BaseMessage;
  const { id, name, additional_kwargs } = message;
  return new Kind({ id, name, additional_kwargs, content });
}

const text = (given: string): Block => ({ type: "text", text: given });
export const isPicture = ({ type }: { type: string }) => type === "image_url";
export const urlOf = ({ image_url }: Block) =>
  typeof image_url === "string" ? image_url : (image_url?.url ?? "");
