/** @module A notebook's layout, kept by the browser through reloads: of the sessions used last. */
import { type Draft, EMPTY_LAYOUT, type Layout } from "./layout.ts";

const PREFIX = "sandbar.notebook.";
const INDEX = "sandbar.notebooks";
const KEPT = 40;

export function loadLayout(session: string): Layout {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(PREFIX + session) ?? "null");
    return typeof stored === "object" && stored !== null ? { ...EMPTY_LAYOUT, ...stored } : EMPTY_LAYOUT;
  } catch {
    return EMPTY_LAYOUT;
  }
}

export function saveLayout(session: string, layout: Layout): void {
  try {
    localStorage.setItem(PREFIX + session, JSON.stringify(layout));
    const used: string[] = JSON.parse(localStorage.getItem(INDEX) ?? "[]");
    if (used[0] === session) return;
    const next = [session, ...used.filter((id) => id !== session)];
    for (const old of next.splice(KEPT)) localStorage.removeItem(PREFIX + old);
    localStorage.setItem(INDEX, JSON.stringify(next));
  } catch {
    // No storage, or a full one: then it lasts as long as the page.
  }
}

export function newDraft(draft: Partial<Draft> & Pick<Draft, "context">): Draft {
  return { id: `draft-${crypto.randomUUID()}`, kind: "code", code: "", after: null, ...draft };
}
