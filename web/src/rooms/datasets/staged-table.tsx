import type { Dataset } from "@sandbar/sdk";
import { Link } from "@tanstack/react-router";
import { EllipsisVertical, PackagePlus, RefreshCw, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { problemOf } from "../../api/problem.ts";
import { Badge } from "../../ui/badge.tsx";
import { Bytes } from "../../ui/bytes.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { Tooltip } from "../../ui/tooltip.tsx";
import { useWidth } from "../../ui/use-width.ts";

export interface Staged {
  session: { id: string; key: string };
  access: "NONE" | "LOCAL_RO" | "API";
  dataset: Dataset;
}

const STATES = { PENDING: "creating", LOADED: "ready", FAILED: "failed" } as const;
const WORDS = { PENDING: "staging", LOADED: "loaded", FAILED: "failed" } as const;

/** What sessions have of datasets, with its state and version. */
export function StagedTable({
  rows,
  withSession = false,
  loading,
  empty,
  onRefresh,
  onExport,
  onRemove,
}: {
  rows: readonly Staged[];
  withSession?: boolean;
  loading: boolean;
  empty: ReactNode;
  onRefresh: (staged: Staged) => void;
  onExport: (staged: Staged) => void;
  onRemove: (staged: Staged) => void;
}) {
  const [box, width] = useWidth<HTMLDivElement>();
  const columns: Column<Staged>[] = [
    {
      id: "id",
      header: "Dataset",
      width: "minmax(5rem, 2fr)",
      cell: ({ dataset }) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="min-w-0 truncate font-medium" title={dataset.path}>
            {dataset.id}
          </span>
          {dataset.modified && <Badge tone="warn">changed by code</Badge>}
        </span>
      ),
    },
    {
      id: "state",
      header: "State",
      width: "5.5rem",
      cell: ({ dataset }) => {
        const state = <StateDot state={STATES[dataset.status]} label={WORDS[dataset.status]} />;
        if (!dataset.error) return state;
        const { code, detail } = problemOf(dataset.error);
        return (
          <Tooltip text={`${code}: ${detail}`}>
            <button type="button" className="underline decoration-dotted underline-offset-2">
              {state}
              <span className="sr-only">
                : {code} {detail}
              </span>
            </button>
          </Tooltip>
        );
      },
    },
    ...(withSession
      ? [
          {
            id: "session",
            header: "Session",
            width: "minmax(5rem, 1fr)",
            from: "sm" as const,
            cell: ({ session }: Staged) => (
              <Link
                to="/sessions/$id"
                params={{ id: session.id }}
                className="text-accent hover:underline"
                title={session.id}
              >
                {session.key}
              </Link>
            ),
          },
        ]
      : []),
    {
      id: "version",
      header: "Version",
      width: "minmax(4rem, 1fr)",
      from: "md",
      cell: ({ dataset, access }) =>
        access === "LOCAL_RO" ? (
          <Badge>host's folder</Badge>
        ) : dataset.version ? (
          <code className="text-xs">{dataset.version}</code>
        ) : (
          <code className="text-xs text-faint">{dataset.sha256?.slice(0, 10) ?? "–"}</code>
        ),
    },
    {
      id: "size",
      header: "Size",
      width: "4rem",
      align: "right",
      cell: ({ dataset }) => <Bytes value={dataset.size} />,
    },
    {
      id: "age",
      header: "Changed",
      width: "5rem",
      align: "right",
      from: "lg",
      cell: ({ dataset }) => <Time at={dataset.mtime} />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      width: "1.75rem",
      cell: (staged) =>
        staged.access === "API" && (
          <Menu
            trigger={<IconButton label={`Actions for ${staged.dataset.id}`} icon={<EllipsisVertical />} />}
            items={[
              { label: "Stage again…", icon: <RefreshCw />, onSelect: () => onRefresh(staged) },
              { label: "Keep as artifact", icon: <PackagePlus />, onSelect: () => onExport(staged) },
              null,
              { label: "Take out…", icon: <Trash2 />, danger: true, onSelect: () => onRemove(staged) },
            ]}
          />
        ),
    },
  ];
  return (
    <div ref={box} className="flex min-h-0 flex-col">
      <Table
        label="Datasets"
        className="max-h-[60vh]"
        width={width}
        rows={rows}
        columns={columns}
        rowKey={({ session, dataset }) => `${session.id} ${dataset.id}`}
        loading={loading}
        empty={empty}
      />
    </div>
  );
}
