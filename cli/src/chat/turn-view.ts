/** @module A turn as it happens, on a terminal: what has ended stays, what goes on is drawn below it. */
import type { CallItem, ChatItem, ChatState } from "@sandbar/sdk";
import type { Screen } from "../terminal/screen.ts";
import { oneLine, type Style, safe } from "../terminal/style.ts";
import { type CallLook, foldedCall, isOpen, liveCall } from "./call-view.ts";
import { MarkdownStream } from "./markdown-stream.ts";
import type { PictureNote } from "./pictures.ts";

const FRAME_MS = 80;

export interface ViewOptions {
  readonly screen: Screen;
  readonly style: Style;
  /** What stands at the very end, such as what is being typed. */
  footer?(): string[];
}

/** What every look of one chat has in common. */
export interface ChatLook {
  /** Of the calls of the chat, in order: `/expand 1` is the first. */
  readonly numbers: Map<string, number>;
  readonly saved: Map<string, PictureNote>;
  runtime: string;
  /** Whether there is somebody who can say `/expand`. */
  readonly expands: boolean;
}

export const newLook = (expands: boolean): ChatLook => ({
  numbers: new Map(),
  saved: new Map(),
  runtime: "python",
  expands,
});

export function lookOf(look: ChatLook, style: Style, { id }: Pick<CallItem, "id">): CallLook {
  if (!look.numbers.has(id)) look.numbers.set(id, look.numbers.size + 1);
  return { ...look, style, number: look.numbers.get(id)! };
}

export const retryText = ({ status, detail, attempt }: NonNullable<ChatState["retry"]>) =>
  `the provider said${status ? ` ${status}` : ""} “${oneLine(detail)}”; asking again (${attempt})`;

export class TurnView {
  readonly #options: ViewOptions;
  readonly #look: ChatLook;
  /** Items that stand already, of earlier turns too. */
  readonly #standing: Set<string>;
  readonly #texts = new Map<string, MarkdownStream>();
  readonly #began = new Map<string, number>();
  readonly #start = Date.now();
  readonly #timer: NodeJS.Timeout;
  #state: ChatState;
  #note: string | null = null;
  #frame = 0;

  constructor(options: ViewOptions, look: ChatLook, before: ChatState) {
    this.#options = options;
    this.#look = look;
    this.#state = before;
    // A call that has waited for a human goes on in this turn.
    this.#standing = new Set(before.items.filter((item) => item.kind !== "call" || !isOpen(item)).map(keyOf));
    this.#timer = setInterval(() => {
      this.#frame++;
      this.#draw();
    }, FRAME_MS);
    this.#draw();
  }

  /** Drawn with the next frame. */
  show(state: ChatState): void {
    this.#state = state;
  }

  /** Says what goes on besides, until it is null. */
  note(text: string | null): void {
    this.#note = text;
    this.#draw();
  }

  /** News have come: what was noted is over. */
  quieten(): void {
    this.#note = null;
  }

  /** Adds lines that stay. */
  say(...lines: string[]): void {
    this.#options.screen.update(lines, this.#live([]));
  }

  redraw(): void {
    this.#draw();
  }

  /** Everything stands; nothing is drawn any more. */
  end(): void {
    clearInterval(this.#timer);
    this.#options.screen.update(this.#settle(true).staying, []);
  }

  #draw(): void {
    const { staying, live } = this.#settle(false);
    this.#options.screen.update(staying, this.#live(live));
  }

  #live(lines: string[]): string[] {
    const { style, footer } = this.#options;
    const { retry } = this.#state;
    const told = this.#note ?? (retry ? retryText(retry) : null);
    const elapsed = Math.floor((Date.now() - this.#start) / 1000);
    const busy =
      lines.length > 0 && told === null
        ? []
        : [spinner(this.#frame, style, told ?? `thinking · ${elapsed} s`)];
    return [...lines, ...busy, ...(footer?.() ?? [])];
  }

  /** What can stand now, in order, and what still changes. */
  #settle(over: boolean): { staying: string[]; live: string[] } {
    const staying = this.#forgotten();
    const live: string[] = [];
    for (const item of this.#state.items) {
      if (this.#standing.has(keyOf(item))) continue;
      // What stands cannot be changed: nothing after what changes yet may stand.
      const blocked = live.length > 0;
      if (item.kind === "user") this.#standing.add(keyOf(item));
      else if (item.kind === "text")
        this.#text(item.id, item.text, item.whole || over, blocked, staying, live);
      else this.#call(item, over, blocked, staying, live);
    }
    return { staying, live };
  }

  #text(id: string, text: string, whole: boolean, blocked: boolean, staying: string[], live: string[]): void {
    const { screen, style } = this.#options;
    const stream = blocked ? new MarkdownStream() : (this.#texts.get(id) ?? new MarkdownStream());
    const drawn = stream.take(safe(text), whole && !blocked, screen.columns, style);
    if (blocked) {
      live.push(...drawn.done, ...drawn.live);
      return;
    }
    this.#texts.set(id, stream);
    staying.push(...drawn.done);
    live.push(...drawn.live);
    if (!whole) return;
    this.#standing.add(`text/${id}`);
    this.#texts.delete(id);
  }

  #call(call: CallItem, over: boolean, blocked: boolean, staying: string[], live: string[]): void {
    const look = lookOf(this.#look, this.#options.style, call);
    if (call.status === "running" && !this.#began.has(call.id)) this.#began.set(call.id, Date.now());
    if ((isOpen(call) && !over) || blocked) {
      const since = this.#began.get(call.id) ?? Date.now();
      live.push(...liveCall(call, look, this.#frame, Math.floor((Date.now() - since) / 1000)), "");
      return;
    }
    this.#standing.add(keyOf(call));
    // One that waits for a human is shown with the question.
    if (!isOpen(call)) staying.push(...foldedCall(call, look), "");
  }

  /** Of an answer that is begun anew a part may stand already. */
  #forgotten(): string[] {
    const { items } = this.#state;
    const gone = [...this.#texts].filter(
      ([id]) => !items.some((item) => item.kind === "text" && item.id === id),
    );
    for (const [id] of gone) this.#texts.delete(id);
    const stood = gone.some(([, stream]) => stream.begun);
    return stood ? [this.#options.style("dim", "(that answer was cut off; it begins anew)"), ""] : [];
  }
}

const keyOf = ({ kind, id }: ChatItem) => `${kind}/${id}`;

const DOTS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const spinner = (frame: number, style: Style, text: string) =>
  `${style("cyan", DOTS[frame % DOTS.length]!)} ${style("dim", text)}`;
