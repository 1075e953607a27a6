/** @module Text that somebody changed and has not saved, kept while one looks at other files and rooms. */
import { createStore } from "../../api/store.ts";

export interface Draft {
  text: string;
  /** The file's version that it was made from. */
  etag: string;
}

export const drafts = createStore<ReadonlyMap<string, Draft>>(new Map());

export const draftKey = (session: string, path: string) => `${session} ${path}`;

export function setDraft(key: string, draft: Draft | null): void {
  const next = new Map(drafts.get());
  if (draft) next.set(key, draft);
  else next.delete(key);
  drafts.set(next);
}

window.addEventListener("beforeunload", (event) => {
  if (drafts.get().size > 0) event.preventDefault();
});
