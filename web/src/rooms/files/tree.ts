/** @module The tree as rows: what is shown of what is known. */
import type { FileEntry } from "@sandbar/sdk";

export type TreeRow =
  | {
      kind: "entry";
      entry: FileEntry;
      depth: number;
      open: boolean;
      path: string;
      position: number;
      siblings: number;
    }
  /** Stands inside an open folder that has nothing to show (yet). */
  | { kind: "note"; note: "loading" | "empty" | "failed"; depth: number; path: string };

export type Listing = { entries: readonly FileEntry[] } | "loading" | "failed";

const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

export function sorted(entries: readonly FileEntry[]): FileEntry[] {
  const isFolder = ({ type }: FileEntry) => type === "directory";
  return [...entries].sort(
    (a, b) =>
      Number(isFolder(b)) - Number(isFolder(a)) ||
      order.compare(a.name, b.name) ||
      (a.name < b.name ? -1 : 1),
  );
}

export function treeRows(
  roots: readonly FileEntry[],
  listings: ReadonlyMap<string, Listing>,
  open: ReadonlySet<string>,
): TreeRow[] {
  const rows: TreeRow[] = [];
  const visit = (entries: readonly FileEntry[], depth: number) => {
    for (const [index, entry] of entries.entries()) {
      const { path } = entry;
      const isOpen = entry.type === "directory" && open.has(path);
      rows.push({
        kind: "entry",
        entry,
        depth,
        open: isOpen,
        path,
        position: index + 1,
        siblings: entries.length,
      });
      if (!isOpen) continue;
      const listing = listings.get(path) ?? "loading";
      if (typeof listing === "string")
        rows.push({ kind: "note", note: listing, depth: depth + 1, path: `${path}/` });
      else if (listing.entries.length === 0)
        rows.push({ kind: "note", note: "empty", depth: depth + 1, path: `${path}/` });
      else visit(listing.entries, depth + 1);
    }
  };
  visit(roots, 0);
  return rows;
}
