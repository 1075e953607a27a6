/** @module What somebody has typed and not run yet, kept by the browser through a reload. */

export interface Draft {
  context: string;
  code: string;
}

const nameOf = (session: string) => `sandbar.draft.${session}`;
const LONGEST = 200_000;

export function loadDraft(session: string): Draft | null {
  try {
    const draft: unknown = JSON.parse(sessionStorage.getItem(nameOf(session)) ?? "null");
    const { context, code } = (draft ?? {}) as Partial<Draft>;
    return typeof context === "string" && typeof code === "string" ? { context, code } : null;
  } catch {
    return null;
  }
}

export function saveDraft(session: string, draft: Draft): void {
  try {
    if (draft.code === "" || draft.code.length > LONGEST) sessionStorage.removeItem(nameOf(session));
    else sessionStorage.setItem(nameOf(session), JSON.stringify(draft));
  } catch {
    // No storage, or a full one: then it lasts as long as the page.
  }
}
