/** @module One turn: the run's events are folded and shown, pictures saved; a stop cancels the run and awaits its end. */
import {
  type AgentEvent,
  type ChatState,
  endedChat,
  foldEvent,
  type RunEvent,
  type RunRecord,
  type RunStream,
  SandbarError,
  type Threads,
} from "@sandbar/sdk";
import { type PictureNote, type SavedPicture, savePicture } from "./pictures.ts";

export interface TurnEnd {
  readonly state: ChatState;
  readonly run: RunRecord;
  /** What this turn saved, by link. */
  readonly pictures: ReadonlyMap<string, SavedPicture>;
}

export interface TurnHooks {
  changed(state: ChatState, event: RunEvent): void;
  saved?(url: string, picture: PictureNote, bytes: Uint8Array | null): void;
}

export async function followTurn(
  threads: Threads,
  stream: RunStream,
  before: ChatState,
  hooks: TurnHooks,
): Promise<TurnEnd> {
  let state = before;
  const pictures = new Map<string, SavedPicture>();
  for await (const event of stream) {
    const url = pictureOf(event);
    if (url && !pictures.has(url)) await save(threads, url, pictures, hooks);
    state = foldEvent(state, event);
    hooks.changed(state, event);
  }
  state = endedChat(state);
  return { state, run: stream.run!, pictures };
}

function pictureOf({ event, data }: RunEvent): string | null {
  if (event !== "custom") return null;
  const said = data as AgentEvent;
  return said.type === "result" ? (said.data.url ?? null) : null;
}

async function save(
  threads: Threads,
  url: string,
  pictures: Map<string, SavedPicture>,
  hooks: TurnHooks,
): Promise<void> {
  try {
    const bytes = await threads.picture(url);
    const picture = savePicture(bytes);
    pictures.set(url, picture);
    hooks.saved?.(url, picture, bytes);
  } catch (error) {
    // The answer matters more than a folder that cannot be written to.
    const note = `a picture could not be saved: ${(error as Error).message}`;
    hooks.saved?.(url, { note }, null);
  }
}

/** The first stop cancels the run, even one that is only being asked for, and its end is awaited; the second one leaves. */
export class Stopper {
  readonly #told: (text: string) => void;
  #stream: RunStream | null = null;
  #stops = 0;

  constructor(told: (text: string) => void) {
    this.#told = told;
  }

  get stopped(): boolean {
    return this.#stops > 0;
  }

  /** There is a run now. */
  watch(stream: RunStream): RunStream {
    this.#stream = stream;
    if (this.stopped) this.#cancel();
    return stream;
  }

  /** Returns true to leave. */
  stop(): boolean {
    if (++this.#stops > 1) return true;
    this.#told("stopping (Ctrl-C again leaves)");
    this.#cancel();
    return false;
  }

  #cancel(): void {
    this.#stream?.cancel().catch((error: unknown) => {
      // A run that has just ended needs no stop.
      if (!(error instanceof SandbarError && error.status === 404)) this.#told((error as Error).message);
    });
  }
}
