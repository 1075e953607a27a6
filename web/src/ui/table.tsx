import { useVirtualizer } from "@tanstack/react-virtual";
import { clsx } from "clsx";
import { type KeyboardEvent, type MouseEvent, memo, type ReactNode, useMemo, useRef } from "react";
import { Skeleton } from "./skeleton.tsx";

export interface Column<Row> {
  id: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  /** A track of CSS grid, such as "minmax(10rem, 2fr)" or "6rem". */
  width: string;
  align?: "left" | "right";
  /** Left out below this width of the table; what must be known stands in a column that stays. */
  from?: "sm" | "md" | "lg" | "xl";
}

const FROM: Record<NonNullable<Column<unknown>["from"]>, number> = { sm: 480, md: 680, lg: 900, xl: 1120 };

/** Rows of equal height, of which only those in sight are drawn: a thousand cost what thirty do. */
export function Table<Row>({
  rows,
  columns,
  rowKey,
  onOpen,
  selected,
  loading = false,
  empty,
  label,
  rowHeight = 40,
  width,
  className,
  onEnd,
}: {
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  /** A click, or Enter, on a row. */
  onOpen?: (row: Row, event: MouseEvent | KeyboardEvent) => void;
  selected?: (row: Row) => boolean;
  /** Nothing is known yet: rows of skeleton. */
  loading?: boolean;
  empty?: ReactNode;
  /** What the table lists, for screen readers. */
  label: string;
  rowHeight?: number;
  /** The width it is given, measured by useWidth, which decides what columns there are. */
  width: number;
  className?: string;
  /** The last rows are in sight: time for the next page. */
  onEnd?: () => void;
}) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rowKey(rows[index]!),
    overscan: 12,
    onChange: ({ range }) => {
      if (onEnd && range && range.endIndex >= rows.length - 10) onEnd();
    },
  });
  const shown = useMemo(() => columns.filter(({ from }) => !from || width >= FROM[from]), [columns, width]);
  const template = shown.map((column) => column.width).join(" ");

  const move = (event: KeyboardEvent<HTMLDivElement>) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
    if (!row || event.target !== row) return;
    const index = Number(row.dataset.row);
    if (event.key === "Enter" && onOpen) onOpen(rows[index]!, event);
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
    if (!step || !rows[index + step]) return;
    event.preventDefault();
    virtual.scrollToIndex(index + step);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${index + step}"]`)?.focus(),
    );
  };

  if (!loading && rows.length === 0 && empty) return <>{empty}</>;
  return (
    <div
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      className={clsx("flex min-h-0 flex-col overflow-hidden rounded-lg border bg-surface", className)}
    >
      <div
        role="row"
        tabIndex={-1}
        className="grid shrink-0 items-center gap-x-4 border-b px-3 text-xs text-faint"
        style={{ gridTemplateColumns: template, height: 32 }}
      >
        {shown.map((column) => (
          <span
            key={column.id}
            role="columnheader"
            tabIndex={-1}
            className={clsx("truncate", column.align === "right" && "text-right")}
          >
            {column.header}
          </span>
        ))}
      </div>
      <div ref={scroller} role="rowgroup" className="min-h-0 flex-1 overflow-y-auto" onKeyDown={move}>
        {loading ? (
          Array.from({ length: 6 }, (_, index) => (
            <div key={index} className="flex items-center border-b px-3" style={{ height: rowHeight }}>
              <Skeleton className="h-3 w-full" />
            </div>
          ))
        ) : (
          <div className="relative" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ index, key, start }) => {
              const row = rows[index]!;
              return (
                <Row
                  key={key}
                  row={row}
                  index={index}
                  start={start}
                  height={rowHeight}
                  columns={shown as readonly Column<unknown>[]}
                  template={template}
                  selected={selected?.(row)}
                  onOpen={onOpen as RowProps["onOpen"]}
                />
              );
            })}
          </div>
        )}
      </div>
    </div>
  );
}

interface RowProps {
  row: unknown;
  index: number;
  start: number;
  height: number;
  columns: readonly Column<unknown>[];
  template: string;
  selected: boolean | undefined;
  onOpen?: (row: unknown, event: MouseEvent | KeyboardEvent) => void;
}

/** Drawn again when it changes, not whenever the table is scrolled. */
const Row = memo(function Row({ row, index, start, height, columns, template, selected, onOpen }: RowProps) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-row={index}
      tabIndex={0}
      onClick={(event) => {
        // React passes on what happens in a menu or dialog that a cell has opened elsewhere.
        if (!event.currentTarget.contains(event.target as Node)) return;
        // A button or a link in the row is its own.
        if ((event.target as HTMLElement).closest("a, button, input, label")) return;
        if (window.getSelection()?.toString()) return;
        onOpen?.(row, event);
      }}
      className={clsx(
        "absolute inset-x-0 grid items-center gap-x-4 border-b border-line/70 px-3 -outline-offset-2",
        onOpen && "cursor-pointer hover:bg-hover/60",
        selected && "bg-accent-soft/60",
      )}
      style={{ gridTemplateColumns: template, height, transform: `translateY(${start}px)` }}
    >
      {columns.map((column) => (
        <div
          key={column.id}
          role="cell"
          className={clsx("min-w-0 truncate", column.align === "right" && "text-right tabular-nums")}
        >
          {column.cell(row)}
        </div>
      ))}
    </div>
  );
});
