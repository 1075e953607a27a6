import type { FileEntry, Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { keys } from "../../api/keys.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { nameParts } from "./shown-name.ts";

/** The first rows of a CSV or Parquet file. */
export function DataTable({
  session,
  entry,
  kind,
}: {
  session: Session;
  entry: FileEntry;
  kind: "csv" | "parquet";
}) {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.files(session.id, entry.path), "head", entry.etag],
    queryFn: async ({ signal }) => {
      const { readCsvHead, readParquetHead } = await import("./data-head.ts");
      return (kind === "csv" ? readCsvHead : readParquetHead)(session, entry, signal);
    },
    retry: false,
    gcTime: 60_000,
  });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} className="m-3" />;
  if (!data) return <Skeleton className="m-4 h-48" />;
  const { columns, rows, total, tooLarge } = data;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <p className="shrink-0 border-b px-4 py-1.5 text-xs text-muted tabular-nums">{caption(data)}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="min-h-0 flex-1 overflow-auto" tabIndex={0} role="region" aria-label="First rows">
        <table className="min-w-full border-separate border-spacing-0 font-mono text-xs">
          <thead>
            <tr>
              <th className={`${HEAD} w-px text-right text-faint`}>#</th>
              {columns.map(({ name, type }, index) => (
                <th key={index} scope="col" className={`${HEAD} text-left`}>
                  <Visible text={name} />
                  {type && <span className="ml-2 font-normal text-faint">{type}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index} className="hover:bg-hover/50">
                <td className="border-b border-line/60 px-3 py-1 text-right text-faint tabular-nums">
                  {index + 1}
                </td>
                {columns.map((_, column) => (
                  <td
                    key={column}
                    title={row[column]}
                    className="max-w-80 truncate border-b border-line/60 px-3 py-1 whitespace-pre"
                  >
                    <Visible text={row[column] ?? ""} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        {tooLarge && (
          <p className="p-4 text-sm text-muted">
            Its first row group is too large for a page. Read it in the session, with{" "}
            <code>pandas.read_parquet</code>.
          </p>
        )}
        {rows.length === 0 && !tooLarge && total === 0 && (
          <p className="p-4 text-sm text-muted">It has no rows.</p>
        )}
      </div>
    </div>
  );
}

const HEAD = "sticky top-0 border-b bg-surface px-3 py-1.5 font-medium whitespace-nowrap";

function Visible({ text }: { text: string }) {
  return <>{nameParts(text).map((part) => part.text)}</>;
}

function caption({
  columns,
  rows,
  total,
}: {
  columns: unknown[];
  rows: unknown[];
  total: number | null;
}): string {
  const width = `${columns.length} column${columns.length === 1 ? "" : "s"}`;
  if (total === null) return `The first ${rows.length} rows · ${width}`;
  if (total > rows.length) return `The first ${rows.length} of ${total.toLocaleString()} rows · ${width}`;
  return `${total.toLocaleString()} row${total === 1 ? "" : "s"} · ${width}`;
}
