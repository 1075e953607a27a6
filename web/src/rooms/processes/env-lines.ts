/** @module Environment variables as somebody types them: one NAME=value on a line. */

export function envOf(text: string): { env: Record<string, string>; wrong: string | null } {
  const env: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line);
    if (!match) return { env, wrong: line.trim() };
    env[match[1]!] = match[2]!;
  }
  return { env, wrong: null };
}
