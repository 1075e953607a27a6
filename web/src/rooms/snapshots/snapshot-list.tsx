import type { Listing, Snapshot } from "@sandbar/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { EllipsisVertical, Link2, Play, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Bytes } from "../../ui/bytes.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { copyText } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Menu } from "../../ui/menu.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { Counts, countsOf } from "../../ui/variable-report.tsx";
import { SnapshotDialog } from "./snapshot-dialog.tsx";
import { nameOf } from "./snapshot-names.ts";
import { StartFrom } from "./start-from.tsx";

/** Each row has a report of its variables, so pages are small. */
const PAGE = 50;
/** No event tells of them. */
const AGAIN_MS = 15_000;

/** Snapshots, newest first: of a session, or of the whole tenant. */
export function SnapshotList({
  listing,
  of,
  sessionName,
  withSession = false,
  empty,
  open,
  onOpen,
}: {
  listing: () => Listing<Snapshot>;
  /** A session's id, or "all". */
  of: string;
  sessionName: (id: string) => string | undefined;
  withSession?: boolean;
  empty: ReactNode;
  /** The one that is looked into. */
  open: string | null;
  onOpen: (id: string | null) => void;
}) {
  const query = useInfiniteQuery({
    queryKey: [...keys.snapshots, of],
    queryFn: ({ pageParam }) => listing().page(pageParam, PAGE),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) => (state.data && state.data.pages.length > 2 ? false : AGAIN_MS),
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const rows = data?.pages.flatMap((page) => page.data) ?? [];
  const [deleting, setDeleting] = useState<Snapshot | null>(null);
  const [starting, setStarting] = useState<Snapshot | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const opened = rows.find(({ id }) => id === open) ?? null;

  const columns: Column<Snapshot>[] = [
    {
      id: "name",
      header: "Snapshot",
      width: "minmax(6rem, 2fr)",
      cell: (snapshot) => (
        <span className={snapshot.name ? "font-medium" : "text-muted"} title={snapshot.id}>
          {nameOf(snapshot)}
        </span>
      ),
    },
    ...(withSession
      ? [
          {
            id: "session",
            header: "Session",
            width: "minmax(5rem, 1fr)",
            from: "md" as const,
            cell: ({ session_id }: Snapshot) => (
              <span className="text-muted" title={session_id}>
                {sessionName(session_id) ?? <code className="text-xs">…{session_id.slice(-8)}</code>}
              </span>
            ),
          },
          {
            id: "runtime",
            header: "Runtime",
            width: "5rem",
            from: "lg" as const,
            cell: ({ runtime }: Snapshot) => <span className="text-muted">{languageName(runtime)}</span>,
          },
        ]
      : []),
    {
      id: "variables",
      header: "Variables",
      width: "minmax(8rem, 1fr)",
      from: "sm",
      cell: ({ contexts }) => <Counts report={countsOf(contexts)} />,
    },
    {
      id: "size",
      header: "Size",
      width: "4.5rem",
      align: "right",
      cell: ({ size }) => <Bytes value={size} />,
    },
    {
      id: "new",
      header: "New bytes",
      width: "4.5rem",
      align: "right",
      from: "lg",
      cell: ({ new_bytes }) => (
        <span className="text-muted">
          <Bytes value={new_bytes} />
        </span>
      ),
    },
    {
      id: "expires",
      header: "Kept",
      width: "3rem",
      align: "right",
      from: "md",
      cell: ({ expires_at }) => (
        <span className="text-muted">
          <Time at={expires_at} style="age" />
        </span>
      ),
    },
    {
      id: "age",
      header: "Age",
      width: "3rem",
      align: "right",
      cell: ({ created_at }) => <Time at={created_at} style="age" />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      width: "1.75rem",
      cell: (snapshot) => (
        <Menu
          trigger={<IconButton label={`Actions for ${nameOf(snapshot)}`} icon={<EllipsisVertical />} />}
          items={[
            { label: "Start a session…", icon: <Play />, onSelect: () => setStarting(snapshot) },
            {
              label: "Copy its id",
              icon: <Link2 />,
              onSelect: () => void copyText(snapshot.id).then(() => toast("Copied", snapshot.id)),
            },
            null,
            { label: "Delete…", icon: <Trash2 />, danger: true, onSelect: () => setDeleting(snapshot) },
          ]}
        />
      ),
    },
  ];

  if (error && rows.length === 0) return <ErrorNote error={error} onRetry={() => void query.refetch()} />;
  return (
    <div ref={body} className="flex min-h-0 flex-1 flex-col">
      <Table
        label="Snapshots"
        className="max-h-full"
        width={width}
        rows={rows}
        columns={columns}
        rowKey={({ id }) => id}
        loading={query.isPending}
        onOpen={({ id }) => onOpen(id)}
        onEnd={() => hasNextPage && !isFetchingNextPage && void fetchNextPage()}
        empty={empty}
      />
      <SnapshotDialog
        snapshot={opened}
        sessionName={sessionName}
        onClose={() => onOpen(null)}
        onStart={(snapshot) => {
          onOpen(null);
          setStarting(snapshot);
        }}
        onDelete={(snapshot) => {
          onOpen(null);
          setDeleting(snapshot);
        }}
      />
      {starting && <StartFrom snapshot={starting} onClose={() => setStarting(null)} />}
      <ConfirmDialog
        open={deleting !== null}
        onOpenChange={(next) => !next && setDeleting(null)}
        title={`Delete the snapshot ${deleting ? nameOf(deleting) : ""}?`}
        action="Delete snapshot"
        onConfirm={async () => {
          await sandbar.snapshots.delete(deleting!);
          toast("Deleted", nameOf(deleting!));
          await queryClient.invalidateQueries({ queryKey: keys.snapshots });
        }}
      >
        <p>Sessions that began with it go on. Nothing new can begin with it, and it cannot be taken back.</p>
      </ConfirmDialog>
    </div>
  );
}
