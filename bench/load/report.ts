/** @module A report with its date, on the screen and, with `--write`, beside the program. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPO } from "@sandbar/test/fixtures/stack.ts";

export function writeReport(folder: string, name: string, parts: readonly string[]): void {
  const date = new Date().toISOString().slice(0, 10);
  const text = `# ${date}: ${name}\n\n${parts.join("\n\n")}\n`;
  console.log(text);
  if (!process.argv.includes("--write")) return;
  mkdirSync(join(REPO, folder, "reports"), { recursive: true });
  writeFileSync(join(REPO, folder, "reports", `${date}-${name}.md`), text);
}
