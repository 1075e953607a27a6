/** @module What was typed and not sent, by thread, for as long as the page is there. */
const drafts = new Map<string, string>();

export const takeDraft = (key: string): string => drafts.get(key) ?? "";

export function writeDraft(key: string, text: string): void {
  if (text) drafts.set(key, text);
  else drafts.delete(key);
}
