/** @module A conversation at a terminal: prompt, turns, questions of the agent. */
import {
  type AskOptions,
  type ChatState,
  chatOf,
  type Decision,
  EMPTY_CHAT,
  endedChat,
  type RunStream,
  type RunWishes,
  type Sandbar,
  SandbarError,
  type ThreadRecord,
} from "@sandbar/sdk";
import { EXIT } from "../invocation/exit-codes.ts";
import { explain } from "../invocation/explain.ts";
import type { Offer } from "../terminal/completer.ts";
import { inlinePicture } from "../terminal/inline-picture.ts";
import { Prompt } from "../terminal/prompt.ts";
import { Screen } from "../terminal/screen.ts";
import { stateFile } from "../terminal/state-file.ts";
import { oneLine, type Style, safe, styleOf } from "../terminal/style.ts";
import { decisionOn } from "./approval.ts";
import { type Attachment, attachFile, requireFile, sandboxOf, withAttachments } from "./attachments.ts";
import { wholeCall } from "./call-view.ts";
import type { LastThread } from "./last-thread.ts";
import { MarkdownStream } from "./markdown-stream.ts";
import { noModel } from "./model-ready.ts";
import { statusOf } from "./transcript.ts";
import { followTurn, Stopper } from "./turn.ts";
import { type ChatLook, lookOf, newLook, TurnView } from "./turn-view.ts";

export type Wishes = { -readonly [Name in keyof RunWishes]: RunWishes[Name] };

/** What may be said to the chat itself. */
export interface ChatCommands {
  complete(line: string): Offer;
  /** Resolves to true to leave. */
  run(chat: Chat, line: string): Promise<boolean>;
}

export class Chat {
  readonly client: Sandbar;
  readonly wishes: Wishes;
  readonly style: Style = styleOf(process.stdout);
  readonly #screen = new Screen();
  readonly #last: LastThread;
  readonly #commands: ChatCommands;
  #prompt!: Prompt;
  thread: string | null = null;
  state: ChatState = EMPTY_CHAT;
  look: ChatLook = newLook(true);
  attachments: Attachment[] = [];
  /** Threads as `/threads` has listed them. */
  listed: ThreadRecord[] = [];
  #approveAll = false;

  constructor(client: Sandbar, last: LastThread, wishes: Wishes, commands: ChatCommands) {
    this.client = client;
    this.#commands = commands;
    this.#last = last;
    this.wishes = wishes;
  }

  print(text = ""): void {
    process.stdout.write(`${text}\n`);
  }

  dim(text: string): void {
    this.print(this.style("dim", text));
  }

  /** Until the user leaves; the exit code. */
  async talk(thread: string | null, files: readonly string[]): Promise<number> {
    this.#prompt = new Prompt({
      text: this.style(["bold", "cyan"], "› "),
      historyFile: stateFile("chat-history"),
      complete: (line) => this.#commands.complete(line),
    });
    this.#prompt.onExpand = () => this.expand();
    try {
      if (!(await this.#hasModel())) return EXIT.failed;
      if (thread) await this.open(thread);
      else this.dim("a new chat; /help says what there is, Ctrl-D leaves");
      for (const file of files) await this.add(file);
      for (;;) {
        const line = await this.#prompt.next();
        if (line === null) break;
        const left = await this.#handle(line.trim());
        if (left) return EXIT.ok;
      }
      this.print();
      return EXIT.ok;
    } finally {
      this.#prompt.close();
    }
  }

  /** Returns true to leave. Whatever fails, the conversation goes on. */
  async #handle(line: string): Promise<boolean> {
    try {
      if (line === "") return false;
      if (line.startsWith("/") && !line.includes("\n")) return await this.#commands.run(this, line);
      await this.#ask(line);
    } catch (error) {
      this.#screen.clear();
      explain(error);
    }
    return false;
  }

  async #hasModel(): Promise<boolean> {
    if (this.wishes.model) return true;
    const missing = await noModel(this.client);
    if (!missing) return true;
    const [model] = missing.offered;
    if (!model) {
      process.stderr.write(`sandbar: ${missing.sentence}\n`);
      return false;
    }
    process.stdout.write(`No model is set, and Ollama runs here. Use ${this.style("bold", model)}? y/n `);
    const key = await this.#prompt.key("yn\x03");
    this.print(key === "y" ? "y" : "n");
    if (key !== "y") {
      process.stderr.write(`sandbar: ${missing.sentence}\n`);
      return false;
    }
    await this.client.settings.put({ model });
    return true;
  }

  /** Goes on in a thread that exists. */
  async open(id: string): Promise<void> {
    const thread = await this.client.threads.get(id);
    this.thread = id;
    this.#last.set(id);
    this.#approveAll = false;
    this.look = newLook(true);
    const known = chatOf(thread);
    // Calls that a stop has cut off are not shown again as if they went on.
    this.state = thread.status === "busy" ? known : endedChat(known);
    for (const item of this.state.items) if (item.kind === "call") lookOf(this.look, this.style, item);
    const messages = this.state.items.filter(({ kind }) => kind !== "call").length;
    const title = oneLine(String(thread.metadata.title ?? "untitled"));
    this.dim(`continuing “${title}” · ${messages} messages · /new begins another chat`);
    const [running, session] = await Promise.all([
      thread.status === "busy" ? this.client.threads.running(id) : null,
      this.client.findSession(id).catch(() => null),
    ]);
    if (session) this.look.runtime = session.info.runtime;
    this.#recall(running !== null);
    if (running) {
      // Its events are told from its beginning, so they are shown after its question.
      const asked = this.state.items.findLastIndex(({ kind }) => kind === "user");
      this.state = { ...this.state, items: this.state.items.slice(0, asked + 1) };
      this.dim("(a turn is under way)");
      await this.#follow(() => this.client.threads.join(id, running.run_id, this.#options()));
    }
    await this.#answerQuestions();
  }

  /** The last question, and unless it is being answered the last answer. */
  #recall(withoutAnswer: boolean): void {
    const { items } = this.state;
    const asked = items.findLastIndex(({ kind }) => kind === "user");
    const question = items[asked];
    if (question?.kind !== "user") return;
    this.print(`${this.style(["bold", "cyan"], "› ")}${safe(question.text).split("\n")[0]}`);
    const answer = withoutAnswer
      ? undefined
      : items.findLast((item, at) => item.kind === "text" && at > asked);
    if (answer?.kind !== "text") return;
    const drawn = new MarkdownStream().take(safe(answer.text), true, this.#screen.columns, this.style);
    for (const line of drawn.done) this.print(line);
  }

  fresh(): void {
    this.thread = null;
    this.state = EMPTY_CHAT;
    this.look = newLook(true);
    this.attachments = [];
    this.#approveAll = false;
    this.dim("a new chat");
  }

  /** The thread, which is made when it is needed first. */
  async ensureThread(): Promise<string> {
    if (!this.thread) {
      this.thread = (await this.client.threads.create()).thread_id;
      this.#last.set(this.thread);
    }
    return this.thread;
  }

  async add(file: string): Promise<void> {
    await requireFile(file);
    const session = await sandboxOf(this.client, await this.ensureThread());
    this.look.runtime = session.info.runtime;
    const attachment = await attachFile(session, file);
    this.attachments.push(attachment);
    this.dim(`${attachment.path} goes with the next question`);
  }

  async #ask(question: string): Promise<void> {
    const thread = await this.ensureThread();
    const content = withAttachments(question, this.attachments);
    await this.#follow(async () => {
      const stream = await this.client.threads.ask(thread, content, this.#options());
      this.attachments = [];
      return stream;
    });
    await this.#answerQuestions();
  }

  #options(): AskOptions {
    return {
      ...this.wishes,
      onReconnect: () => this.#view?.note("the connection was lost; trying again"),
    };
  }

  #view: TurnView | null = null;

  async #follow(begin: () => RunStream | Promise<RunStream>): Promise<void> {
    const view = new TurnView(
      { screen: this.#screen, style: this.style, footer: () => this.#footer() },
      this.look,
      this.state,
    );
    this.#view = view;
    const stopper = new Stopper((text) => view.note(text));
    this.#prompt.quiet(() => {
      if (stopper.stop()) this.#leave(view);
    });
    try {
      const stream = stopper.watch(await begin());
      const { state, run } = await followTurn(this.client.threads, stream, this.state, {
        changed: (now) => {
          this.state = now;
          view.show(now);
          if (!stopper.stopped) view.quieten();
        },
        saved: (url, picture, bytes) => {
          this.look.saved.set(url, picture);
          const inline = bytes && inlinePicture(bytes);
          if (inline) view.say(inline);
        },
      });
      this.state = state;
      view.show(state);
      view.end();
      this.#tellEnd(statusOf(run, state));
    } finally {
      view.end();
      this.#view = null;
      this.#prompt.loud();
    }
  }

  /** What is typed ahead. */
  #footer(): string[] {
    const { typed } = this.#prompt;
    return typed === "" ? [] : [`${this.style("dim", "›")} ${safe(typed)}`];
  }

  #leave(view: TurnView): void {
    view.end();
    this.#prompt.close();
    process.exit(EXIT.interrupted);
  }

  #tellEnd(status: ReturnType<typeof statusOf>): void {
    if (status === "stopped") this.dim("stopped");
    if (status !== "failed") return;
    const { error, message } = this.state.error ?? { error: "RUN_FAILED", message: "the run failed" };
    explain(
      new SandbarError({
        code: error,
        detail: safe(message),
        hint:
          error === "MODEL_FAILED"
            ? "`sandbar settings test` asks the model; /model takes another."
            : undefined,
      }),
    );
  }

  /** As long as the agent asks. */
  async #answerQuestions(): Promise<void> {
    while (this.state.questions.length > 0) {
      const decisions: Decision[] = [];
      for (const request of this.state.questions) {
        const decision = this.#approveAll
          ? ({ type: "approve" } as const)
          : await decisionOn(request, this.#prompt, this.style, () => {
              this.#approveAll = true;
            });
        if (decision === null) {
          this.dim("it waits; /approve asks again");
          return;
        }
        decisions.push(decision);
      }
      await this.#follow(() => this.client.threads.decide(this.thread!, decisions, this.#options()));
    }
  }

  /** Of `/approve` while something waits. */
  answerQuestions(): Promise<void> {
    return this.#answerQuestions();
  }

  /** All of a call: the one with this number, or the last. */
  expand(number?: number): void {
    const calls = this.state.items.filter((item) => item.kind === "call");
    const call = number ? calls.find(({ id }) => this.look.numbers.get(id) === number) : calls.at(-1);
    const shown = call
      ? wholeCall(call, lookOf(this.look, this.style, call))
      : [this.style("dim", number ? `there is no call ${number}` : "no code has run yet")];
    if (this.#view) this.#view.say(...shown, "");
    else for (const line of shown) this.print(line);
  }
}
