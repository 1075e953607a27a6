/** @module `sandbar cp`: files and folders between this machine and a session. */
import { spawn } from "node:child_process";
import { mkdir, stat } from "node:fs/promises";
import { basename, posix } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { Command } from "commander";
import { downloadFile, uploadFile } from "../node/transfer.ts";
import type { Session } from "../session.ts";
import { UsageError } from "./explain.ts";
import { cli, existingSession } from "./global-options.ts";
import { progressBar } from "./progress.ts";

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
    .description("copy a file or folder: `cp data.csv mykey:/session/` or `cp ses_…:/session/out ./out`")
    .action(async (from: string, to: string, _, command: Command) => {
      const [source, target] = [parsePlace(from), parsePlace(to)];
      const context = cli(command);
      if (source.session === null && target.session !== null)
        return upload(await existingSession(context, target.session), source.path, target.path);
      if (source.session !== null && target.session === null)
        return download(await existingSession(context, source.session), source.path, target.path);
      if (source.session !== null && target.session !== null) {
        const [one, other] = [
          await existingSession(context, source.session),
          await existingSession(context, target.session),
        ];
        const [result] = await other.files.import([
          { destination: intoFolder(target.path, source.path), session_id: one.id, path: source.path },
        ]);
        if (!result?.ok) throw new Error(`could not copy ${source.path}: ${JSON.stringify(result?.error)}`);
        return;
      }
      throw new UsageError("one of the two must be session:path");
    });
}

async function upload(session: Session, local: string, remote: string): Promise<void> {
  const entry = await stat(local).catch(() => {
    throw new UsageError(`${local} does not exist`);
  });
  if (!entry.isDirectory()) return uploadOne(session, local, intoFolder(remote, local));
  const tar = spawn("tar", ["-c", "-f", "-", "-C", local, "."], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => tar.once("exit", resolve));
  await session.files.extract(remote, Readable.toWeb(tar.stdout) as unknown as ReadableStream<Uint8Array>);
  if ((await ended) !== 0) throw new Error(`tar could not read all of ${local}`);
}

async function uploadOne(session: Session, local: string, remote: string): Promise<void> {
  const bar = progressBar(local);
  await uploadFile(session, local, remote, { onProgress: bar.update });
  bar.done();
}

async function download(session: Session, remote: string, local: string): Promise<void> {
  if ((await session.files.stat(remote)).type !== "directory") {
    const bar = progressBar(remote);
    await downloadFile(session, remote, local, { onProgress: bar.update });
    return bar.done();
  }
  await mkdir(local, { recursive: true });
  const tar = spawn("tar", ["-x", "-f", "-", "-C", local, "--no-same-owner"], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  const ended = new Promise<number | null>((resolve) => tar.once("exit", resolve));
  await pipeline(Readable.fromWeb((await session.files.download(remote)) as unknown as WebStream), tar.stdin);
  if ((await ended) !== 0) throw new Error("tar could not unpack the folder");
}

function intoFolder(target: string, source: string): string {
  return target.endsWith("/") || target === "/session" ? posix.join(target, basename(source)) : target;
}
