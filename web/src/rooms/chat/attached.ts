/** @module Files that came with a message: they are in the sandbox, and the message ends by naming them. */

const HEADING = "Attached files:";

export function withAttached(text: string, paths: readonly string[]): string {
  if (paths.length === 0) return text;
  return [...(text ? [text, ""] : []), HEADING, ...paths.map((path) => `- ${path}`)].join("\n");
}

export function withoutAttached(text: string): { text: string; files: string[] } {
  const lines = text.trimEnd().split("\n");
  const at = lines.lastIndexOf(HEADING);
  const named = lines.slice(at + 1);
  if (at === -1 || named.length === 0 || named.some((line) => !line.startsWith("- /")))
    return { text, files: [] };
  return { text: lines.slice(0, at).join("\n").trimEnd(), files: named.map((line) => line.slice(2)) };
}
