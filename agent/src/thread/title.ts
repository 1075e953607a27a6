/** @module What a thread is called: the first thing that was asked, without the files that came along. */

const TITLE_CHARS = 80;
/** As the chats end a question that has files. */
const ATTACHED = /(^|\n)Attached files:(\n- \/[^\n]*)+\s*$/;

export function titleFrom(content: unknown): string | null {
  const text = Array.isArray(content) ? content.map((block) => block?.text ?? "").join(" ") : content;
  if (typeof text !== "string" || text.trim() === "") return null;
  const asked = text.replace(ATTACHED, "").trim() || text.trim();
  const line = asked.replace(/\s+/g, " ");
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line;
}
