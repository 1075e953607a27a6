/** @module What an installation does to a machine: steps that can be shown instead of carried out. */
import { spawn } from "node:child_process";
import { mkdirSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

export interface Step {
  /** Every file and command of it, as somebody would type them. */
  readonly shown: string;
  readonly work: () => Promise<void> | void;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Given on standard input, and not shown. */
  readonly secret?: string;
}

const word = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

export function runs(command: readonly string[], { env = {}, secret }: RunOptions = {}): Step {
  const set = Object.entries(env).map(([name, value]) => `${name}=${word(value)}`);
  const typed = [...set, ...command.map(word)].join(" ");
  return {
    shown: `$ ${typed}${secret === undefined ? "" : "   # with the token on its standard input"}`,
    work: () => runToEnd(command, env, secret),
  };
}

async function runToEnd(
  [file, ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  secret: string | undefined,
): Promise<void> {
  // What it says is for the person at the terminal; standard output is for what was asked for.
  const child = spawn(file!, args, { env: { ...process.env, ...env }, stdio: ["pipe", 2, 2] });
  child.stdin!.on("error", () => {});
  child.stdin!.end(secret);
  const status = await new Promise<string | number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  if (status !== 0) throw new Error(`${[file, ...args].join(" ")} ended with ${status}`);
}

export function writes(file: string, content: string, mode: number): Step {
  const indented = content.trimEnd().replaceAll(/^/gm, "    ");
  return {
    shown: `write ${file} (${mode.toString(8)})\n${indented}`,
    work: () => {
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(`${file}.new`, content, { mode });
      renameSync(`${file}.new`, file);
    },
  };
}

export function makesFolder(folder: string, mode: number): Step {
  return {
    shown: `make the folder ${folder} (${mode.toString(8)})`,
    work: () => void mkdirSync(folder, { recursive: true, mode }),
  };
}

/** In one step: whoever follows the link meanwhile finds the old or the new. */
export function links(link: string, target: string): Step {
  return {
    shown: `link ${link} -> ${target}`,
    work: () => {
      mkdirSync(path.dirname(link), { recursive: true });
      rmSync(`${link}.new`, { force: true });
      symlinkSync(target, `${link}.new`);
      renameSync(`${link}.new`, link);
    },
  };
}

export function removes(...places: string[]): Step {
  return {
    shown: places.map((place) => `remove ${place}`).join("\n"),
    work: () => {
      for (const place of places) rmSync(place, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

export const does = (shown: string, work: Step["work"]): Step => ({ shown, work });

export function linkTarget(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null;
  }
}

export async function carryOut(
  steps: readonly Step[],
  { dryRun, say }: { dryRun: boolean; say: (line: string) => void },
): Promise<void> {
  for (const { shown, work } of steps) {
    say(dryRun ? shown : shown.split("\n")[0]!);
    if (!dryRun) await work();
  }
}
