import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { succeeds } from "./run-command.ts";

export type Mirror = { main: string; security?: string };

/**
 * The mirror that this machine's apt uses, if it carries `suite`: in a company's network it may be the only one
 * that can be reached. Undefined where apt's mirrors are not Debian's.
 */
export async function hostMirror(suite: string): Promise<Mirror | undefined> {
  const uris = aptUris(readSources());
  const main = await firstThatCarries(uris, suite);
  return main ? withSecurity(main, suite, uris) : undefined;
}

/** Adds the repository of security updates, which by custom lies next to the main one. */
export async function withSecurity(main: string, suite: string, others: string[] = []): Promise<Mirror> {
  return { main, security: await firstThatCarries([...others, `${main}-security`], `${suite}-security`) };
}

/** Repository addresses in one-line and deb822 sources, in order. */
export function aptUris(sources: string): string[] {
  const uris: string[] = [];
  for (const line of sources.split("\n")) {
    const oneLine = /^\s*deb\s+(?:\[[^\]]*\]\s*)?(\S+)/.exec(line)?.[1];
    const deb822 = /^URIs:\s*(.*)$/i.exec(line)?.[1];
    uris.push(
      ...([oneLine, ...(deb822?.split(/\s+/) ?? [])].filter(
        (uri) => uri !== undefined && /^https?:/.test(uri),
      ) as string[]),
    );
  }
  return [...new Set(uris.map((uri) => uri.replace(/\/+$/, "")))];
}

export function sourcesList(suite: string, mirror: Mirror): string {
  const lines = [`deb ${mirror.main} ${suite} main`];
  if (mirror.security) lines.push(`deb ${mirror.security} ${suite}-security main`);
  return `${lines.join("\n")}\n`;
}

async function firstThatCarries(uris: string[], suite: string): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-mirror-"));
  try {
    for (const uri of uris) {
      // apt's own downloader, so that its proxy, certificate and credential settings count.
      const release = [`${uri}/dists/${suite}/InRelease`, join(folder, "InRelease")];
      if (await succeeds(["/usr/lib/apt/apt-helper", "download-file", ...release])) return uri;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return undefined;
}

function readSources(): string {
  const folder = "/etc/apt/sources.list.d";
  const files = ["/etc/apt/sources.list"];
  try {
    files.push(
      ...readdirSync(folder)
        .filter((name) => /\.(list|sources)$/.test(name))
        .map((name) => join(folder, name)),
    );
  } catch {}
  return files
    .map((file) => {
      try {
        return readFileSync(file, "utf8");
      } catch {
        return "";
      }
    })
    .join("\n");
}
