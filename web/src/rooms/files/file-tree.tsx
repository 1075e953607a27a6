import type { FileEntry } from "@sandbar/sdk";
import { useVirtualizer } from "@tanstack/react-virtual";
import { clsx } from "clsx";
import { ChevronRight } from "lucide-react";
import { type DragEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { formatBytes } from "../../ui/bytes.tsx";
import { FileIcon } from "./file-icon.tsx";
import { FileName } from "./file-name.tsx";
import { parentOf } from "./paths.ts";
import type { TreeRow } from "./tree.ts";

const ROW_PX = 28;
const INDENT_PX = 14;
const NOTES = { loading: "Loading…", empty: "Empty", failed: "Could not be read" };

export const rowKey = (row: TreeRow) => (row.kind === "entry" ? (row.entry.path_b64 ?? row.path) : row.path);

/** Folders and files as rows, of which only those in sight exist; driven by keys as trees are. */
export function FileTree({
  rows,
  chosen,
  drafts,
  onChoose,
  onToggle,
  onRename,
  onDelete,
  onDropInto,
}: {
  rows: readonly TreeRow[];
  /** The path of the row that is looked at. */
  chosen: string;
  /** Paths with changes that are not saved. */
  drafts: ReadonlySet<string>;
  onChoose: (entry: FileEntry) => void;
  onToggle: (path: string, open: boolean) => void;
  onRename: (entry: FileEntry) => void;
  onDelete: (entry: FileEntry) => void;
  onDropInto: (folder: string, event: DragEvent) => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const [dropInto, setDropInto] = useState<string | null>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => rowKey(rows[index]!),
    overscan: 16,
  });
  const index = rows.findIndex((row) => row.kind === "entry" && row.path === chosen);
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index);
    // When another row is chosen, or it has come; not whenever others come and go.
  }, [chosen, index >= 0]);

  // The address follows a moment later: a key that comes before it means the row that was gone to, not the one before.
  const aimed = useRef<string | null>(null);
  useEffect(() => {
    if (chosen === aimed.current) aimed.current = null;
  }, [chosen]);
  const current = () => {
    const at = rows.findIndex((row) => row.kind === "entry" && row.path === aimed.current);
    return at >= 0 ? at : index;
  };

  const go = (from: number, step: number) => {
    for (let at = from; rows[at]; at += step) {
      const row = rows[at]!;
      if (row.kind !== "entry") continue;
      aimed.current = row.path;
      onChoose(row.entry);
      virtual.scrollToIndex(at);
      return;
    }
  };
  const typed = useRef({ text: "", at: 0 });
  const jumpTo = (char: string, now: number) => {
    const { text, at } = typed.current;
    const wanted = (now - at < 800 ? text : "") + char.toLowerCase();
    typed.current = { text: wanted, at: now };
    const start = wanted.length === 1 ? current() + 1 : Math.max(0, current());
    for (let step = 0; step < rows.length; step++) {
      const row = rows[(start + step) % rows.length]!;
      if (row.kind === "entry" && row.entry.name.toLowerCase().startsWith(wanted))
        return go((start + step) % rows.length, 1);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = current();
    const row = rows[at];
    const entry = row?.kind === "entry" ? row.entry : null;
    const folder = entry?.type === "directory" && !entry.path_b64;
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(at + 1, 1),
      ArrowUp: () => go(at - 1, -1),
      Home: () => go(0, 1),
      End: () => go(rows.length - 1, -1),
      PageDown: () => go(Math.min(rows.length - 1, at + 15), 1),
      PageUp: () => go(Math.max(0, at - 15), -1),
      ArrowRight: () => {
        if (!folder || row?.kind !== "entry") return;
        if (row.open) go(at + 1, 1);
        else onToggle(entry.path, true);
      },
      ArrowLeft: () => {
        if (!entry || row?.kind !== "entry") return;
        if (row.open) return onToggle(entry.path, false);
        const parent = rows.findIndex((each) => each.path === parentOf(entry.path));
        if (parent >= 0) go(parent, 1);
      },
      Enter: () => {
        if (folder && row?.kind === "entry") onToggle(entry.path, !row.open);
      },
      F2: () => entry && onRename(entry),
      Delete: () => entry && onDelete(entry),
    };
    const act = keys[event.key];
    if (act) act();
    else if (event.key.length === 1 && event.key !== " " && event.key !== "?")
      jumpTo(event.key, event.timeStamp);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      ref={scroller}
      role="tree"
      aria-label="Files"
      tabIndex={0}
      aria-activedescendant={index >= 0 ? `file-${index}` : undefined}
      onKeyDown={onKeyDown}
      className="group/tree min-h-0 flex-1 overflow-y-auto py-1 -outline-offset-2 focus-visible:outline-none"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index: at, key, start }) => {
          const row = rows[at]!;
          const style = {
            height: ROW_PX,
            transform: `translateY(${start}px)`,
            paddingLeft: 8 + row.depth * INDENT_PX,
          };
          if (row.kind === "note")
            return (
              <div
                key={key}
                role="none"
                className="absolute inset-x-0 flex items-center pl-7 text-xs text-faint"
                style={{ ...style, paddingLeft: style.paddingLeft + 18 }}
              >
                {NOTES[row.note]}
              </div>
            );
          const { entry } = row;
          const folder = entry.type === "directory";
          const into = folder ? entry.path : parentOf(entry.path);
          return (
            <div
              key={key}
              id={`file-${at}`}
              role="treeitem"
              tabIndex={-1}
              aria-level={row.depth + 1}
              aria-posinset={row.position}
              aria-setsize={row.siblings}
              aria-expanded={folder ? row.open : undefined}
              aria-selected={at === index}
              onClick={() => {
                aimed.current = row.path;
                onChoose(entry);
                if (folder && !entry.path_b64) onToggle(entry.path, !row.open);
                scroller.current?.focus({ preventScroll: true });
              }}
              onDragOver={(event) => {
                event.preventDefault();
                setDropInto(into);
              }}
              onDragLeave={() => setDropInto(null)}
              onDrop={(event) => {
                setDropInto(null);
                onDropInto(into, event);
              }}
              className={clsx(
                "absolute inset-x-1 flex cursor-pointer items-center gap-1.5 rounded-md pr-2 select-none",
                at === index
                  ? "bg-hover group-focus-visible/tree:outline-2 group-focus-visible/tree:-outline-offset-2 group-focus-visible/tree:outline-accent"
                  : "hover:bg-hover/60",
                dropInto === into && folder && "bg-accent-soft!",
              )}
              style={style}
            >
              <ChevronRight
                aria-hidden
                className={clsx(
                  "size-3.5 shrink-0 text-faint transition-transform",
                  folder ? row.open && "rotate-90" : "invisible",
                )}
              />
              <FileIcon entry={entry} open={row.open} />
              <FileName
                name={entry.name}
                className={clsx(
                  entry.name.startsWith(".") && "text-muted",
                  row.depth === 0 && "font-mono text-xs",
                )}
              />
              {drafts.has(entry.path) && (
                <span title="Not saved" className="size-1.5 shrink-0 rounded-full bg-warn">
                  <span className="sr-only">not saved</span>
                </span>
              )}
              {entry.type === "file" && (
                <span aria-hidden className="ml-auto shrink-0 pl-2 text-2xs text-faint tabular-nums">
                  {formatBytes(entry.size)}
                </span>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}
