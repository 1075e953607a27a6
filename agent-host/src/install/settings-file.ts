/** @module The settings of an installed host: lines of `NAME=value` that operators edit, and that stay as they are. */
import { existsSync, readFileSync } from "node:fs";

export function readSettings(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** With these values, in the lines that have them already or in new ones. */
export function withSettings(text: string, values: Readonly<Record<string, string>>): string {
  const left = new Map(Object.entries(values));
  const lines = text.split("\n").map((line) => {
    const name = /^\s*([A-Z0-9_]+)\s*=/.exec(line)?.[1];
    const value = name === undefined ? undefined : left.get(name);
    if (value === undefined) return line;
    left.delete(name!);
    return `${name}=${value}`;
  });
  while (lines.at(-1) === "") lines.pop();
  return [...lines, ...Array.from(left, ([name, value]) => `${name}=${value}`), ""].join("\n");
}

export function settingOf(text: string, name: string): string | undefined {
  const found = text.match(new RegExp(`^\\s*${name}\\s*=\\s*(.*?)\\s*$`, "m"))?.[1];
  return found?.replace(/^(["'])(.*)\1$/, "$2") || undefined;
}
