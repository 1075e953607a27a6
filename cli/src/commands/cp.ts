/** @module `sandbar cp`: files and folders between this machine and a session. */
import { spawn } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { Session } from "@sandbar/sdk";
import { SandbarError } from "@sandbar/sdk";
import { downloadFile, uploadFile } from "@sandbar/sdk/node";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { cli, existingSession } from "../invocation/global-options.ts";
import { untilSignalled } from "../invocation/signals.ts";
import { type ProgressBar, progressBar } from "../terminal/progress.ts";

export interface Place {
  session: string | null;
  path: string;
}

/** `session:path`, where session is an id or a key; a colon after a slash belongs to a local path. */
export function parsePlace(text: string): Place {
  const at = text.indexOf(":");
  const slash = text.indexOf("/");
  if (at < 1 || (slash !== -1 && slash < at)) return { session: null, path: text };
  return { session: text.slice(0, at), path: text.slice(at + 1) || "/session" };
}

export function addCp(program: Command): void {
  program
    .command("cp <from> <to>")
    .description("copy a file or folder: `cp data.csv mykey:` or `cp ses_…:/session/out ./out`")
    .addHelpText(
      "after",
      "\nAs with cp -r, a target that is a folder or ends in / gets what is copied under its own name, and `folder/.`\nmeans what is in it. - is standard input or output.",
    )
    .action(async (from: string, to: string, _, command: Command) => {
      const [source, target] = [parsePlace(from), parsePlace(to)];
      const context = cli(command);
      if (source.session === null && target.session === null)
        throw new UsageError("one of the two must be session:path");
      const giver = source.session === null ? null : await existingSession(context, source.session);
      const taker = target.session === null ? null : await existingSession(context, target.session);
      if (giver && taker) await between(giver, source.path, taker, target.path);
      else if (taker) await upload(taker, source.path, target.path);
      else if (giver) await download(giver, source.path, target.path);
    });
}

async function between(giver: Session, from: string, taker: Session, to: string): Promise<void> {
  const destination = await remoteTarget(taker, to, from);
  const [result] = await taker.files.import([{ destination, session_id: giver.id, path: from }]);
  if (result?.ok) return;
  const { code = "UNEXPECTED_ANSWER", detail = "no result" } = result?.error ?? {};
  throw new SandbarError({ code, detail: `${from} was not copied: ${detail}` });
}

async function upload(session: Session, local: string, remote: string): Promise<void> {
  const bar = progressBar(local);
  if (local === "-") {
    const body = process.stdin.pipe(bar.meter());
    await session.files.write(remote, Readable.toWeb(body) as unknown as ReadableStream<Uint8Array>);
    return bar.done();
  }
  const entry = await stat(local).catch(() => {
    throw new UsageError(`${local} does not exist`);
  });
  const target = await remoteTarget(session, remote, local);
  if (entry.isDirectory()) await uploadFolder(session, local, target, bar);
  else await uploadFile(session, local, target, { onProgress: bar.update });
  bar.done();
}

export async function uploadFolder(
  session: Session,
  local: string,
  remote: string,
  bar: ProgressBar,
  leftOut: readonly string[] = [],
): Promise<void> {
  const without = leftOut.map((name) => `--exclude=${name}`);
  const tar = spawn("tar", ["-c", "-f", "-", ...without, "-C", local, "."], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => tar.once("exit", resolve));
  const archive = Readable.toWeb(tar.stdout.pipe(bar.meter()));
  await session.files.extract(remote, archive as unknown as ReadableStream<Uint8Array>);
  if ((await ended) !== 0) throw new Error(`tar could not read all of ${local}`);
}

async function download(session: Session, remote: string, local: string): Promise<void> {
  const bar = progressBar(remote);
  const { type } = await session.files.stat(remote);
  if (local === "-") {
    if (type === "directory") throw new UsageError(`${remote} is a folder; give a folder to copy it to`);
    const body = Readable.fromWeb((await session.files.download(remote)) as unknown as WebStream);
    return pipeline(body, process.stdout, { end: false });
  }
  if (type === "directory") await downloadFolder(session, remote, await localTarget(local, remote), bar);
  else
    await untilSignalled((signal) =>
      downloadFile(session, remote, local, { signal, onProgress: bar.update }),
    );
  bar.done();
}

/** As for anybody else when it is root who unpacks: a session's files make no setuid programs of root's. */
const UNTRUSTED = ["--no-same-owner", "--no-same-permissions"];

async function downloadFolder(session: Session, remote: string, local: string, bar: ProgressBar) {
  await mkdir(local, { recursive: true });
  const tar = spawn("tar", ["-x", "-f", "-", "-C", local, ...UNTRUSTED], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => tar.once("exit", resolve));
  const archive = Readable.fromWeb((await session.files.download(remote)) as unknown as WebStream);
  // tar may leave before the padding at the end of an archive; its status says whether it got what it needs.
  await pipeline(archive, bar.meter(), tar.stdin).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  if ((await ended) !== 0) throw new Error("tar could not unpack the folder");
}

async function remoteTarget(session: Session, target: string, source: string): Promise<string> {
  const name = ownName(source);
  if (name === null) return target;
  const isFolder =
    target.endsWith("/") ||
    (await session.files.stat(target).then(
      ({ type }) => type === "directory",
      () => false,
    ));
  return isFolder ? posix.join(target, name) : target;
}

async function localTarget(target: string, source: string): Promise<string> {
  const name = ownName(source);
  const isFolder =
    target.endsWith("/") ||
    (await stat(target).then(
      (entry) => entry.isDirectory(),
      () => false,
    ));
  return isFolder && name !== null ? join(target, name) : target;
}

/** The name under which a source goes into a folder; null for `.`, `..`, `folder/.` and `/`. */
function ownName(source: string): string | null {
  const name = posix.basename(source);
  return name === "" || name === "." || name === ".." ? null : name;
}
