/** @module Between the local disk and a session or an artifact, streamed. */
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable, Transform, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as WebStream } from "node:stream/web";
import type { Artifact, Artifacts } from "../artifacts.ts";
import { networkError, SandbarError } from "../errors.ts";
import { DEFAULT_RETRY, retryDelayMs, sleep } from "../retry.ts";
import type { Session } from "../session.ts";

export interface TransferOptions {
  signal?: AbortSignal;
  onProgress?: (bytes: number, total: number | null) => void;
}

/** Saves an artifact's bytes, checked against its SHA-256. A path that ends in / or is a folder gets its name. */
export async function saveArtifact(
  artifacts: Artifacts,
  idOrArtifact: string | Artifact,
  path: string,
  options: TransferOptions = {},
): Promise<string> {
  const artifact = typeof idOrArtifact === "string" ? await artifacts.get(idOrArtifact) : idOrArtifact;
  const target = (await isFolder(path)) ? join(path, basename(artifact.name)) : path;
  const body = await artifacts.stream(artifact.id, options);
  await writeAtomically(target, body, artifact.size, options, artifact.sha256);
  return target;
}

export async function downloadFile(
  session: Session,
  remote: string,
  path: string,
  options: TransferOptions = {},
): Promise<string> {
  const target = (await isFolder(path)) ? join(path, basename(remote)) : path;
  const { type, size, body } = await session.files.open(remote, options);
  if (type === "directory") {
    await body.cancel();
    throw new SandbarError({ code: "NOT_A_FILE", detail: `${remote} is a folder` });
  }
  await writeAtomically(target, body, size, options);
  return target;
}

/** Sent again from the start after a cut, which leaves nothing behind; progress begins anew then. */
export async function uploadFile(
  session: Session,
  path: string,
  remote: string,
  options: TransferOptions = {},
): Promise<void> {
  const { size } = await stat(path);
  for (let attempt = 0; ; attempt++) {
    const source = createReadStream(path).compose(counter(size, options)) as Readable;
    try {
      const body = Readable.toWeb(source) as unknown as ReadableStream<Uint8Array>;
      await session.files.write(remote, body, { signal: options.signal });
      return;
    } catch (error) {
      source.destroy();
      const delay = options.signal?.aborted ? null : retryDelayMs(error, attempt, DEFAULT_RETRY);
      if (delay === null) throw error;
      await sleep(delay, options.signal);
    }
  }
}

// A cut download never leaves half a file under the final name.
async function writeAtomically(
  target: string,
  body: ReadableStream<Uint8Array>,
  size: number | null,
  options: TransferOptions,
  sha256?: string,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const partial = `${target}.part-${process.pid}`;
  const hash = createHash("sha256");
  const hashing = new Transform({
    transform(chunk, _, next) {
      hash.update(chunk);
      next(null, chunk);
    },
  });
  try {
    const source = Readable.fromWeb(body as unknown as WebStream);
    const file = createWriteStream(partial);
    // A pipeline hands the error of one end on to the other: the first to have it is where it comes from.
    let from: Readable | Writable | undefined;
    for (const end of [source, file]) end.once("error", () => (from ??= end));
    await pipeline(source, counter(size, options), hashing, file, { signal: options.signal }).catch(
      (error) => {
        if (from !== source || options.signal?.aborted) throw error;
        throw networkError(error, "the download was cut off");
      },
    );
    if (sha256 !== undefined && hash.digest("hex") !== sha256)
      throw new SandbarError({
        code: "CORRUPT_DOWNLOAD",
        detail: `${target} does not hash to ${sha256}`,
        retryable: true,
      });
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
}

function counter(total: number | null, { onProgress }: TransferOptions): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _, next) {
      bytes += chunk.length;
      onProgress?.(bytes, total);
      next(null, chunk);
    },
  });
}

async function isFolder(path: string): Promise<boolean> {
  if (path.endsWith("/")) return true;
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}
