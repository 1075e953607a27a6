/** @module Files for a question: from the disk or from standard input into the thread's sandbox, and named to the agent. */
import { fstatSync, readlinkSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { Readable } from "node:stream";
import type { Sandbar, Session } from "@sandbar/sdk";
import { uploadFile } from "@sandbar/sdk/node";
import { UsageError } from "../invocation/explain.ts";
import { dim, size } from "../terminal/print.ts";
import { progressBar } from "../terminal/progress.ts";

export interface Attachment {
  readonly path: string;
  readonly size: number;
}

export const FOLDER = "/session";
/** A script may have left its own standard input open. */
const HINT_MS = 3_000;
/** What is smaller is there at once. */
const BAR_BYTES = 1_000_000;

/** The thread's sandbox, made if there is none. */
export const sandboxOf = (client: Sandbar, thread: string): Promise<Session> =>
  client.session({ key: thread });

/** Asked before anything is made for it. */
export async function requireFile(local: string): Promise<void> {
  const entry = await stat(local).catch(() => null);
  if (!entry?.isFile()) throw new UsageError(`${local} is not a file; see \`sandbar cp\` for folders`);
}

export async function attachFile(session: Session, local: string): Promise<Attachment> {
  const { size: bytes } = await stat(local);
  const path = `${FOLDER}/${basename(local)}`;
  const bar = bytes > BAR_BYTES ? progressBar(local) : null;
  await uploadFile(session, local, path, bar ? { onProgress: bar.update } : {});
  bar?.done();
  return { path, size: bytes };
}

/** Streams; null when nothing comes. */
export async function attachStdin(openSession: () => Promise<Session>): Promise<Attachment | null> {
  const input = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const hint = setTimeout(() => {
    process.stderr.write(dim("waiting for standard input; `< /dev/null` says that there is none\n"));
  }, HINT_MS);
  const first = await input.next().finally(() => clearTimeout(hint));
  if (first.done) return null;
  const path = `${FOLDER}/${nameOfInput(first.value, redirectedFrom())}`;
  let bytes = 0;
  const body = Readable.from(
    (async function* () {
      for (let next: IteratorResult<Buffer> = first; !next.done; next = await input.next()) {
        bytes += next.value.length;
        yield next.value;
      }
    })(),
    { objectMode: false },
  );
  const session = await openSession();
  await session.files.write(path, Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>);
  return { path, size: bytes };
}

/** Whether something is piped in. A terminal and /dev/null are not. */
export function hasInput(): boolean {
  if (process.stdin.isTTY) return false;
  try {
    const entry = fstatSync(0);
    return entry.isFile() || entry.isFIFO() || entry.isSocket();
  } catch {
    return false;
  }
}

/** The file's name in `< data.csv`, where the system tells. */
function redirectedFrom(): string | null {
  try {
    return fstatSync(0).isFile() ? basename(readlinkSync("/proc/self/fd/0")) : null;
  } catch {
    return null;
  }
}

/** A name that says what it is: agents choose how to read a file by it. */
export function nameOfInput(head: Buffer, redirected: string | null = null): string {
  if (redirected && !redirected.endsWith(" (deleted)")) return redirected;
  const magic = head.subarray(0, 4).toString("latin1");
  if (magic === "PAR1") return "stdin.parquet";
  if (magic.startsWith("PK")) return "stdin.zip";
  if (magic.startsWith("\x1f\x8b")) return "stdin.gz";
  if (magic === "%PDF") return "stdin.pdf";
  if (magic === "\x89PNG") return "stdin.png";
  if (head.includes(0)) return "stdin.bin";
  const text = head.toString("utf8").trimStart();
  const [line = ""] = text.split("\n");
  if (/^[[{]/.test(text))
    return /^\{.*\}\s*$/.test(line) && text.includes("\n{") ? "stdin.jsonl" : "stdin.json";
  if (line.includes("\t")) return "stdin.tsv";
  if (line.split(",").length > 1 && !/[.!?]$/.test(line.trim())) return "stdin.csv";
  return "stdin.txt";
}

/** The question with its files, which stand last: the first words become the thread's title. */
export function withAttachments(question: string, attachments: readonly Attachment[]): string {
  if (attachments.length === 0) return question;
  const named = attachments.map(({ path, size: bytes }) => `- ${path} (${size(bytes)})`);
  return `${question}\n\nAttached files:\n${named.join("\n")}`;
}
