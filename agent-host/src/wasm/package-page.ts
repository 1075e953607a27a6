/** @module Pyodide's own distribution as a page of links, which is what pip reads. */
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { SandbarError } from "@sandbar/shared";
import { z } from "zod";

const FRESH_MS = 24 * 3600_000;
const LOCK = "pyodide-lock.json";
const FETCH_MS = 60_000;

const LockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({ file_name: z.string().regex(/^[^/\\"<>#]+$/), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
});

/** Writes the page and returns its path; one that was made from a URL serves for a day, and as long as that URL fails. */
export async function packagePage(index: string, file: string): Promise<string> {
  const base = /^https?:/.test(index)
    ? new URL(index.endsWith("/") ? index : `${index}/`)
    : pathToFileURL(`${path.resolve(index)}/`);
  const made = await stat(file).catch(() => null);
  if (base.protocol !== "file:" && made && Date.now() - made.mtimeMs < FRESH_MS) return file;
  try {
    const { packages } = LockSchema.parse(JSON.parse(await read(new URL(LOCK, base))));
    const links = Object.values(packages)
      .filter(({ file_name }) => file_name.endsWith(".whl"))
      .map(({ file_name, sha256 }) =>
        link(new URL(encodeURIComponent(file_name), base).href, file_name, sha256),
      );
    await mkdir(path.dirname(file), { recursive: true });
    const part = `${file}.${process.pid}.part`;
    await writeFile(part, `<!DOCTYPE html><html><body>\n${links.join("\n")}\n</body></html>\n`);
    await rename(part, file);
  } catch (error) {
    if (made) return file;
    const reason = (error as Error).message.split("\n")[0]!.slice(0, 300);
    throw new SandbarError("DEPENDENCY_FAILED", `SANDBAR_PYODIDE_INDEX cannot be read: ${reason}`);
  }
  return file;
}

const link = (href: string, name: string, sha256: string) => `<a href="${href}#sha256=${sha256}">${name}</a>`;

async function read(url: URL): Promise<string> {
  if (url.protocol === "file:") return readFile(url, "utf8");
  const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) });
  if (!answer.ok) throw new Error(`${url.href} answers ${answer.status}`);
  return answer.text();
}
