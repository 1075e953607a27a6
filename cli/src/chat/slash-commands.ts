/** @module What may be said to the chat itself: words that begin with a slash. */
import { readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import type { Artifact } from "@sandbar/sdk";
import { downloadFile, saveArtifact } from "@sandbar/sdk/node";
import { showSettings } from "../commands/settings.ts";
import { UsageError } from "../invocation/explain.ts";
import type { Offer } from "../terminal/completer.ts";
import { age, clean, size } from "../terminal/print.ts";
import { FOLDER, sandboxOf } from "./attachments.ts";
import type { Chat } from "./chat.ts";
import { savePicture } from "./pictures.ts";
import { picturesOf, transcript } from "./transcript.ts";

interface SlashCommand {
  readonly usage: string;
  readonly about: string;
  run(chat: Chat, argument: string): Promise<void> | void;
}

const LISTED = 15;

const COMMANDS: Readonly<Record<string, SlashCommand>> = {
  new: { usage: "", about: "begin another chat, with a sandbox of its own", run: (chat) => chat.fresh() },
  threads: { usage: "", about: "the newest chats", run: listThreads },
  resume: { usage: "<n or id>", about: "go on in another chat", run: resume },
  model: {
    usage: "[provider:model]",
    about: "which model answers, or another one for this chat",
    run: model,
  },
  files: { usage: "[folder]", about: "files of the sandbox", run: listFiles },
  add: { usage: "<path>", about: "bring a file into the sandbox, for the next question", run: add },
  get: { usage: "<path> [to]", about: "fetch a file of the sandbox, or an artifact of this chat", run: get },
  save: { usage: "[file]", about: "write the chat to a Markdown file", run: save },
  approve: {
    usage: "[on|off]",
    about: "whether code waits for your word; alone: answer what waits",
    run: approve,
  },
  readonly: { usage: "[on|off]", about: "whether the agent only looks and runs nothing", run: readOnly },
  expand: { usage: "[n]", about: "all of a call's code and output (Ctrl-O: the last)", run: expand },
  settings: { usage: "", about: "the agent's settings", run: settings },
  help: { usage: "", about: "this text", run: help },
  quit: { usage: "", about: "leave (Ctrl-D)", run: () => {} },
};
const LEAVE = new Set(["quit", "exit", "q"]);

/** Returns true to leave. */
export async function runCommand(chat: Chat, line: string): Promise<boolean> {
  const [, name = "", argument = ""] = /^\/(\S*)\s*(.*)$/.exec(line) ?? [];
  if (LEAVE.has(name)) return true;
  const command = COMMANDS[name];
  if (!command) throw new UsageError(`there is no /${name}; /help lists what there is`);
  await command.run(chat, argument.trim());
  return false;
}

export function completeCommand(line: string): Offer {
  const path = /^\/add\s+(.*)$/.exec(line);
  if (path) return [files(path[1]!), path[1]!];
  if (!line.startsWith("/")) return [[], line];
  const names = Object.keys(COMMANDS).map((name) => `/${name}${COMMANDS[name]!.usage ? " " : ""}`);
  return [names.filter((name) => name.startsWith(line)), line];
}

function files(typed: string): string[] {
  const folder = typed.endsWith("/") ? typed : dirname(typed);
  const begun = typed.endsWith("/") ? "" : basename(typed);
  try {
    return readdirSync(folder || ".", { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begun) && clean(name) === name)
      .map((entry) => {
        const path = typed.includes("/") ? join(folder, entry.name) : entry.name;
        return entry.isDirectory() ? `${path}/` : path;
      });
  } catch {
    return [];
  }
}

async function listThreads(chat: Chat): Promise<void> {
  chat.listed = await chat.client.threads.list({ limit: LISTED });
  for (const [index, { thread_id, metadata, status, updated_at }] of chat.listed.entries()) {
    const here = thread_id === chat.thread ? "*" : " ";
    const title = clean(String(metadata.title ?? "untitled"));
    chat.print(
      `${here}${String(index + 1).padStart(2)}  ${title}  ${chat.style("dim", `${age(updated_at)} · ${status}`)}`,
    );
  }
  chat.dim(chat.listed.length > 0 ? "/resume <n> goes on in one" : "there are none yet");
}

async function resume(chat: Chat, which: string): Promise<void> {
  if (which === "") throw new UsageError("say which: /resume 2, or an id; /threads lists them");
  if (/^\d{1,3}$/.test(which) && chat.listed.length === 0)
    chat.listed = await chat.client.threads.list({ limit: LISTED });
  const listed = /^\d{1,3}$/.test(which) ? chat.listed[Number(which) - 1]?.thread_id : which;
  if (!listed) throw new UsageError(`there is no chat ${which}; /threads lists them`);
  await chat.open(listed);
}

async function model(chat: Chat, name: string): Promise<void> {
  if (name !== "") {
    if (!/^\w+:\S+$/.test(name)) throw new UsageError("a model is given as provider:model");
    chat.wishes.model = name;
    chat.dim(`${name} answers from now on in this chat; \`sandbar settings set model\` is for all`);
    return;
  }
  const chosen = chat.wishes.model ?? (await chat.client.settings.get()).model;
  chat.print(chosen ?? "no model is set");
  const { providers } = await chat.client.settings.models();
  const ready = providers.filter((provider) => provider.ready);
  const offers = ready.flatMap(({ provider, models }) => (models.length > 0 ? models : [`${provider}:…`]));
  if (offers.length > 0) chat.dim(`ready: ${offers.join("  ")}`);
}

async function listFiles(chat: Chat, folder: string): Promise<void> {
  const session = chat.thread ? await chat.client.findSession(chat.thread) : null;
  if (!session) return chat.dim("no sandbox yet: it is made for the first file or the first code");
  for (const { path, type, size: bytes } of await session.files.list(folder || FOLDER))
    chat.print(
      `${clean(path)}${type === "directory" ? "/" : ""}  ${chat.style("dim", type === "directory" ? "" : size(bytes))}`,
    );
}

async function add(chat: Chat, path: string): Promise<void> {
  if (path === "") throw new UsageError("say which: /add data.csv");
  await chat.add(path.replace(/^~(?=\/)/, process.env.HOME ?? "~"));
}

async function get(chat: Chat, words: string): Promise<void> {
  const [path = "", to = "."] = words.split(/\s+/);
  if (path === "") throw new UsageError("say which: /get report.pdf");
  const artifact = artifactOf(chat, path);
  if (artifact) return chat.dim(`saved ${await saveArtifact(chat.client.artifacts, artifact, to)}`);
  const session = await sandboxOf(chat.client, await chat.ensureThread());
  chat.dim(`saved ${await downloadFile(session, path.startsWith("/") ? path : `${FOLDER}/${path}`, to)}`);
}

/** The newest of this name: what code leaves in the folder of artifacts is taken from there. */
function artifactOf({ state }: Chat, path: string): Artifact | undefined {
  const name = path.replace(/^\/session\/artifacts\//, "");
  return state.items
    .flatMap((item) => (item.kind === "call" ? item.artifacts : []))
    .findLast((artifact) => artifact.name === name || artifact.id === path);
}

async function save(chat: Chat, given: string): Promise<void> {
  const file = given || `chat-${new Date().toISOString().slice(0, 19).replaceAll(":", "-")}.md`;
  const pictures = new Map<string, string>();
  for (const url of chat.state.items.flatMap(picturesOf)) {
    // Those of turns that nobody has watched here are fetched now.
    const path = chat.look.saved.get(url)?.path ?? savePicture(await chat.client.threads.picture(url)).path;
    pictures.set(url, relative(dirname(file), path));
  }
  try {
    writeFileSync(file, transcript(chat.state.items, chat.look.runtime, pictures), { flag: "wx" });
  } catch (error) {
    throw new UsageError(`cannot write ${file}: ${(error as Error).message}`);
  }
  chat.dim(`saved ${file}`);
}

async function approve(chat: Chat, word: string): Promise<void> {
  if (word === "" && chat.state.questions.length > 0) return chat.answerQuestions();
  chat.wishes.approval = word === "" ? !chat.wishes.approval : isOn(word);
  chat.dim(chat.wishes.approval ? "code waits for your word" : "code runs without asking");
}

function readOnly(chat: Chat, word: string): void {
  chat.wishes.read_only = word === "" ? !chat.wishes.read_only : isOn(word);
  chat.dim(chat.wishes.read_only ? "the agent looks and runs nothing" : "the agent may run code");
}

function isOn(word: string): boolean {
  if (word !== "on" && word !== "off") throw new UsageError("say on or off");
  return word === "on";
}

function expand(chat: Chat, number: string): void {
  if (number !== "" && !/^\d+$/.test(number)) throw new UsageError("say which: /expand 2");
  chat.expand(number === "" ? undefined : Number(number));
}

async function settings(chat: Chat): Promise<void> {
  showSettings(await chat.client.settings.get(), "table");
}

function help(chat: Chat): void {
  for (const [name, { usage, about }] of Object.entries(COMMANDS))
    chat.print(`  ${`/${name} ${usage}`.padEnd(26)}${chat.style("dim", about)}`);
  chat.dim(
    "Ctrl-C stops the turn and its code, again leaves. A line that ends in \\ goes on. Lines typed meanwhile wait.",
  );
}
