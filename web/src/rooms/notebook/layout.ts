/** @module Where cells stand: as they ran, but for what this browser has edited, run again or put in between. */
import type { Entry } from "./entry.ts";

/** A cell that has not run, or is words. */
export interface Draft {
  id: string;
  kind: "code" | "markdown";
  context: string;
  code: string;
  /** The cell that it stands below; the end when there is none. */
  after: string | null;
}

export interface Layout {
  /** Executions that ran again what stood in another's cell. */
  replaces: Record<string, string>;
  /** The cell that an execution's cell was put below. */
  placed: Record<string, string>;
  /** Edited, and not run since: by cell. */
  edits: Record<string, string>;
  hidden: string[];
  drafts: Draft[];
}

export const EMPTY_LAYOUT: Layout = { replaces: {}, placed: {}, edits: {}, hidden: [], drafts: [] };

export type Cell =
  | { id: string; entry: Entry; runs: number; edited: string | null; draft: null }
  | { id: string; entry: null; draft: Draft };

/** The cell in which an execution is shown: that of the first one that it replaces. */
export function cellOf(layout: Layout, execution: string): string {
  let id = execution;
  for (let i = 0; layout.replaces[id] !== undefined && i < 1000; i++) id = layout.replaces[id]!;
  return id;
}

/** `entries` in the order in which they were accepted. */
export function arrange(entries: readonly Entry[], layout: Layout): Cell[] {
  const hidden = new Set(layout.hidden);
  const byCell = new Map<string, { entry: Entry; runs: number }>();
  for (const entry of entries) {
    const cell = cellOf(layout, entry.id);
    byCell.set(cell, { entry, runs: (byCell.get(cell)?.runs ?? 0) + 1 });
  }
  const below = new Map<string | null, Cell[]>();
  const known = new Set([...byCell.keys(), ...layout.drafts.map(({ id }) => id)]);
  const put = (after: string | null | undefined, cell: Cell) => {
    // What it stood below may be on a page that is not loaded, or gone.
    const anchor = after && known.has(after) ? after : null;
    below.set(anchor, [...(below.get(anchor) ?? []), cell]);
  };
  for (const [id, { entry, runs }] of byCell)
    if (!hidden.has(id))
      put(layout.placed[id], { id, entry, runs, edited: layout.edits[id] ?? null, draft: null });
  for (const draft of layout.drafts) put(draft.after, { id: draft.id, entry: null, draft });
  const cells: Cell[] = [];
  const walk = (anchor: string | null) => {
    for (const cell of below.get(anchor) ?? []) {
      cells.push(cell);
      walk(cell.id);
    }
  };
  walk(null);
  return cells;
}

/** A draft, or an edited cell, has begun to run. */
export function afterRun(layout: Layout, cell: string, execution: string): Layout {
  const draft = layout.drafts.find(({ id }) => id === cell);
  if (!draft) {
    const { [cell]: _, ...edits } = layout.edits;
    return { ...layout, edits, replaces: { ...layout.replaces, [execution]: cell } };
  }
  return {
    ...layout,
    placed: {
      ...renamed(layout.placed, cell, execution),
      ...(draft.after ? { [execution]: draft.after } : {}),
    },
    drafts: layout.drafts
      .filter(({ id }) => id !== cell)
      .map((each) => (each.after === cell ? { ...each, after: execution } : each)),
  };
}

function renamed(placed: Record<string, string>, from: string, to: string): Record<string, string> {
  return Object.fromEntries(Object.entries(placed).map(([id, after]) => [id, after === from ? to : after]));
}
