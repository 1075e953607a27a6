import type { NetworkConnection } from "@sandbar/sdk";
import { useMemo } from "react";
import { Bytes } from "../../ui/bytes.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { preciseDuration, Time } from "../../ui/time.tsx";
import { useWidth } from "../../ui/use-width.ts";

const STATES = { ok: "ok", denied: "timeout", failed: "failed" } as const;

const COLUMNS: Column<NetworkConnection>[] = [
  {
    id: "outcome",
    header: "Outcome",
    width: "5rem",
    cell: ({ outcome }) => <StateDot state={STATES[outcome]} label={outcome} />,
  },
  {
    id: "host",
    header: "Host",
    width: "minmax(7rem, 3fr)",
    cell: ({ host, port }) => (
      <code className="text-xs" title={`${host}:${port}`}>
        {host}
        <span className="text-faint">:{port}</span>
      </code>
    ),
  },
  {
    id: "why",
    header: "Why",
    width: "minmax(6rem, 5fr)",
    from: "md",
    cell: ({ detail }) => (
      <span className="text-muted" title={detail}>
        {detail}
      </span>
    ),
  },
  {
    id: "up",
    header: "Sent",
    width: "4.5rem",
    align: "right",
    from: "sm",
    cell: (c) => <Bytes value={c.bytes_up} />,
  },
  {
    id: "down",
    header: "Received",
    width: "4.5rem",
    align: "right",
    from: "sm",
    cell: (c) => <Bytes value={c.bytes_down} />,
  },
  {
    id: "took",
    header: "Took",
    width: "4.5rem",
    align: "right",
    from: "lg",
    cell: ({ duration_ms }) => preciseDuration(duration_ms),
  },
  {
    id: "at",
    header: "Age",
    width: "3rem",
    align: "right",
    cell: ({ at }) => (
      <span className="text-muted">
        <Time at={at} style="age" />
      </span>
    ),
  },
];

/** The newest that the host remembers, those that were refused too. */
export function Connections({ recent }: { recent: readonly NetworkConnection[] }) {
  const [body, width] = useWidth<HTMLDivElement>();
  const rows = useMemo(() => recent.map((one, index) => ({ ...one, index })).reverse(), [recent]);
  return (
    <div ref={body} className="flex min-h-0 flex-1 flex-col">
      <Table
        label="Connections"
        className="max-h-full"
        width={width}
        rows={rows}
        columns={COLUMNS}
        rowKey={({ at, host, port }) => `${at} ${host} ${port}`}
        empty={
          <p className="rounded-lg border border-dashed px-4 py-6 text-center text-muted">
            No connection yet. Each one shows here as it ends, those that were denied too.
          </p>
        }
      />
    </div>
  );
}
