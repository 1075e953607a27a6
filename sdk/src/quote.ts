/** @module Shell quoting. */

/** One POSIX shell word, whatever the text holds. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
