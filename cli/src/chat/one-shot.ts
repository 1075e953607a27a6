/** @module One question from a script: the answer on standard output, what was done for it on standard error. */
import {
  type ChatState,
  chatOf,
  EMPTY_CHAT,
  type RunEvent,
  type RunWishes,
  type Sandbar,
  SandbarError,
} from "@sandbar/sdk";
import { EXIT } from "../invocation/exit-codes.ts";
import { explain } from "../invocation/explain.ts";
import { inlinePicture } from "../terminal/inline-picture.ts";
import { dim, printJson } from "../terminal/print.ts";
import { Screen } from "../terminal/screen.ts";
import { safe, styleOf } from "../terminal/style.ts";
import { attachFile, attachStdin, hasInput, requireFile, sandboxOf, withAttachments } from "./attachments.ts";
import { foldedCall, isOpen } from "./call-view.ts";
import { noModel } from "./model-ready.ts";
import { reportOf, type TurnStatus } from "./transcript.ts";
import { followTurn, Stopper, type TurnHooks } from "./turn.ts";
import { lookOf, newLook, retryText, TurnView } from "./turn-view.ts";

export type OneShotFormat = "table" | "json" | "jsonl";

export interface OneShot {
  readonly client: Sandbar;
  readonly question: string;
  /** Null: a new one. */
  readonly thread: string | null;
  readonly files: readonly string[];
  /** Standard input becomes a file. */
  readonly stdin: boolean;
  readonly wishes: RunWishes;
  readonly format: OneShotFormat;
  /** Told which thread it is. */
  began(thread: string): void;
}

const EXIT_CODES: Readonly<Record<TurnStatus, number>> = {
  answered: EXIT.ok,
  failed: EXIT.error,
  waiting: EXIT.waiting,
  stopped: EXIT.interrupted,
};

/** The exit code. */
export async function oneShot(options: OneShot): Promise<number> {
  const { client, format } = options;
  if (!options.wishes.model) {
    const missing = await noModel(client);
    if (missing) {
      process.stderr.write(`sandbar: ${missing.sentence}\n`);
      return EXIT.failed;
    }
  }
  for (const file of options.files) await requireFile(file);
  const before = options.thread ? chatOf(await client.threads.get(options.thread)) : EMPTY_CHAT;
  const thread = options.thread ?? (await client.threads.create()).thread_id;
  options.began(thread);
  const question = await withFiles(options, thread);
  const shown = showing(format, before);
  const stopper = new Stopper(shown.note);
  const unlisten = onSignals(stopper);
  try {
    const onReconnect = () => shown.note("the connection was lost; trying again");
    const stream = stopper.watch(
      await client.threads.ask(thread, question, { ...options.wishes, onReconnect }),
    );
    const { state, run, pictures } = await followTurn(client.threads, stream, before, shown);
    shown.end(state);
    const report = reportOf(run, state, before.items.length, pictures);
    if (format === "json") printJson(report);
    else if (format === "jsonl") printLine({ event: "end", data: report });
    else if (report.error)
      explain(new SandbarError({ code: report.error.code, detail: safe(report.error.message) }));
    if (format === "table" && report.status === "waiting")
      process.stderr.write(dim(`it waits for your word: sandbar chat --thread ${thread}\n`));
    return EXIT_CODES[report.status];
  } finally {
    unlisten();
  }
}

async function withFiles({ client, files, stdin, question }: OneShot, thread: string): Promise<string> {
  const session = () => sandboxOf(client, thread);
  const piped = stdin && hasInput() ? await attachStdin(session) : null;
  const attached = piped ? [piped] : [];
  for (const file of files) attached.push(await attachFile(await session(), file));
  return withAttachments(question, attached);
}

/** The first signal stops the turn, and its end is told; the second one leaves. */
function onSignals(stopper: Stopper): () => void {
  const stop = () => {
    if (stopper.stop()) process.exit(EXIT.interrupted);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE"] as const;
  for (const signal of signals) process.on(signal, stop);
  return () => {
    for (const signal of signals) process.off(signal, stop);
  };
}

interface Showing extends TurnHooks {
  note(text: string): void;
  end(state: ChatState): void;
}

function showing(format: OneShotFormat, before: ChatState): Showing {
  if (format === "table" && process.stdout.isTTY && process.env.TERM !== "dumb") return onTerminal(before);
  return inPlainText(format, before);
}

function onTerminal(before: ChatState): Showing {
  const style = styleOf(process.stdout);
  const look = newLook(false);
  const view = new TurnView({ screen: new Screen(), style }, look, before);
  return {
    changed: (state) => view.show(state),
    saved: (url, picture, bytes) => {
      look.saved.set(url, picture);
      const inline = bytes && inlinePicture(bytes);
      if (inline) view.say(inline);
    },
    note: (text) => view.note(text),
    end: (state) => {
      view.show(state);
      view.end();
    },
  };
}

/** A text is printed when it is whole: what a cut answer has said is not taken back from a file. */
function inPlainText(format: OneShotFormat, before: ChatState): Showing {
  const style = styleOf(process.stderr);
  const look = newLook(false);
  const printed = new Set(before.items.map(({ kind, id }) => `${kind}/${id}`));
  let texts = 0;
  const show = (state: ChatState, over: boolean) => {
    for (const item of state.items) {
      const key = `${item.kind}/${item.id}`;
      const isDone = item.kind === "text" ? item.whole || over : item.kind === "call" && !isOpen(item);
      if (!isDone || printed.has(key)) continue;
      printed.add(key);
      if (item.kind === "text") process.stdout.write(`${texts++ > 0 ? "\n" : ""}${item.text.trimEnd()}\n`);
      else if (item.kind === "call")
        process.stderr.write(`${foldedCall(item, lookOf(look, style, item)).join("\n")}\n`);
    }
  };
  const told = (event: RunEvent) => {
    const said = (event.data ?? {}) as { type?: string };
    if (event.event === "custom" && said.type === "model_retry")
      process.stderr.write(dim(`${retryText(said as NonNullable<ChatState["retry"]>)}\n`));
  };
  return {
    changed: (state, event) => {
      if (format === "jsonl") printLine(event);
      else told(event);
      if (format === "table") show(state, false);
    },
    saved: (url, picture) => {
      look.saved.set(url, picture);
    },
    note: (text) => void process.stderr.write(dim(`${text}\n`)),
    end: (state) => {
      if (format === "table") show(state, true);
    },
  };
}

const printLine = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);
