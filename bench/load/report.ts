/** @module A report with its date, on the screen and, with `--write`, beside the program. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPO } from "@sandbar/test/fixtures/stack.ts";

const LINE = 120;

export function writeReport(folder: string, name: string, parts: readonly string[]): void {
  const date = new Date().toISOString().slice(0, 10);
  const text = `# ${date}: ${name}\n\n${parts.map(wrapped).join("\n\n")}\n`;
  console.log(text);
  if (!process.argv.includes("--write")) return;
  mkdirSync(join(REPO, folder, "reports"), { recursive: true });
  writeFileSync(join(REPO, folder, "reports", `${date}-${name}.md`), text);
}

/** Prose in lines that fit; tables and lists stay as they are. */
function wrapped(part: string): string {
  if (/^[|-]/.test(part)) return part;
  const lines = [""];
  for (const word of part.split(" ")) {
    const last = lines.length - 1;
    if (lines[last]!.length + word.length >= LINE) lines.push(word);
    else lines[last] += `${lines[last] ? " " : ""}${word}`;
  }
  return lines.join("\n");
}
