import { clsx } from "clsx";
import { useMemo } from "react";
import type { FirstRows } from "./first-rows.ts";

const NUMBER = /^[+-]?(\d[\d_,]*)?\.?\d+(e[+-]?\d+)?$/i;
/** So many tell what a column holds. */
const LOOKED_AT = 50;

/** Columns of numbers, which are read from their right end. */
function numericColumns({ columns, rows }: FirstRows): readonly boolean[] {
  const some = rows.slice(0, LOOKED_AT);
  return columns.map((_, column) => {
    const filled = some.map((row) => row[column] ?? "").filter((text) => text !== "");
    return filled.length > 0 && filled.every((text) => NUMBER.test(text));
  });
}

/** A plain table that scrolls both ways, with its header in sight. */
export function RowsPreview({ table, label }: { table: FirstRows; label: string }) {
  const { columns, rows, total } = table;
  const numeric = useMemo(() => numericColumns(table), [table]);
  const more = total === null || total > rows.length;
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div
        role="region"
        aria-label={label}
        // What scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto"
      >
        <table className="min-w-full border-separate border-spacing-0 font-mono text-xs">
          <thead>
            <tr>
              <th scope="col" className="sticky top-0 border-b bg-surface px-2 py-1.5 text-right font-normal">
                <span className="sr-only">Row</span>
              </th>
              {columns.map(({ name, type }, index) => (
                <th
                  key={index}
                  scope="col"
                  className={clsx(
                    "sticky top-0 border-b bg-surface px-2 py-1.5 font-semibold whitespace-nowrap",
                    numeric[index] ? "text-right" : "text-left",
                  )}
                >
                  {name}
                  {type && <span className="ml-1.5 font-normal text-faint">{type}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index} className="hover:bg-hover/60">
                <td className="border-b border-line/60 px-2 py-1 text-right text-faint tabular-nums">
                  {index + 1}
                </td>
                {columns.map((_, column) => (
                  <td
                    key={column}
                    className={clsx(
                      "max-w-80 truncate border-b border-line/60 px-2 py-1 whitespace-pre",
                      numeric[column] && "text-right tabular-nums",
                    )}
                    title={row[column]}
                  >
                    {row[column]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="shrink-0 border-t px-3 py-1.5 text-xs text-muted tabular-nums">
        {more ? `The first ${rows.length.toLocaleString()} rows` : `${rows.length.toLocaleString()} rows`}
        {total !== null && more && ` of ${total.toLocaleString()}`}
        {`, ${columns.length} columns`}
      </p>
    </div>
  );
}
