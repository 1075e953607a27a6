import type { Artifact, Artifacts } from "@sandbar/sdk";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Search, Trash2 } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { useLiveInterval } from "../../api/live.ts";
import { useSessionNames } from "../../api/session-names.ts";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { artifactColumns } from "./artifact-columns.tsx";
import { ARTIFACT_TYPES, type ArtifactType, matchArtifacts } from "./artifact-filter.ts";
import { ArtifactPanel } from "./artifact-panel.tsx";

const PAGE = 200;
/** A search looks through as many as this. */
const SEARCHED = 20_000;
/** From this width on the panel stands beside the table, below it in its place. */
const BESIDE = 860;

export function ArtifactBrowser({
  listing,
  queryKey,
  withSession = false,
  ownName,
  quota,
  empty,
}: {
  listing: Artifacts;
  queryKey: readonly unknown[];
  /** Shows of which session each is. */
  withSession?: boolean;
  /** The session's, where all are one's. */
  ownName?: string;
  quota?: ReactNode;
  empty: ReactNode;
}) {
  const client = useQueryClient();
  const interval = useLiveInterval();
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => listing.list().page(pageParam, PAGE),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) => (state.data && state.data.pages.length > 2 ? false : interval),
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const all = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);

  const [search, setSearch] = useState("");
  const [type, setType] = useState<ArtifactType>("all");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<readonly Artifact[] | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const searchBox = useRef<HTMLInputElement>(null);

  const sessionName = useSessionNames(withSession);
  const rows = useMemo(
    () => matchArtifacts(all, search, type, sessionName),
    [all, search, type, sessionName],
  );
  const filtered = rows !== all;
  const opened = all.find(({ id }) => id === open) ?? null;
  const picked = all.filter(({ id }) => chosen.has(id));

  // What is searched for may be older than what was loaded.
  useEffect(() => {
    if (filtered && hasNextPage && !isFetchingNextPage && all.length < SEARCHED) void fetchNextPage();
  }, [filtered, hasNextPage, isFetchingNextPage, all.length, fetchNextPage]);

  const choose = (ids: readonly string[], on: boolean) =>
    setChosen((before) => {
      const next = new Set(before);
      for (const id of ids) on ? next.add(id) : next.delete(id);
      return next;
    });

  useCommands([
    {
      id: "artifacts-search",
      title: "Search artifacts",
      group: "Artifacts",
      shortcut: "/",
      run: () => searchBox.current?.focus(),
    },
    ...(picked.length > 0
      ? [
          {
            id: "artifacts-delete",
            title: `Delete ${count(picked.length)}`,
            group: "Artifacts",
            run: () => setDeleting(picked),
          },
        ]
      : []),
  ]);

  const columns = artifactColumns({
    rows,
    chosen,
    onChoose: choose,
    sessionName: withSession ? sessionName : null,
  });

  const remove = async () => {
    const doomed = deleting ?? [];
    // The first that fails says why, and those before it are gone.
    const gone = new Set<string>();
    try {
      for (const artifact of doomed) {
        await sandbar.artifacts.delete(artifact);
        gone.add(artifact.id);
      }
    } finally {
      choose([...gone], false);
      if (open && gone.has(open)) setOpen(null);
      await client.invalidateQueries({ queryKey });
    }
    toast(`Deleted ${count(doomed.length)}`);
  };

  if (error && all.length === 0) return <ErrorNote error={error} onRetry={() => void query.refetch()} />;
  const beside = width >= BESIDE;
  const panel = opened && (
    <ArtifactPanel
      artifact={opened}
      session={ownName ?? sessionName(opened.session_id)}
      onClose={() => setOpen(null)}
      onDelete={() => setDeleting([opened])}
    />
  );
  return (
    <>
      <div className="mb-3 flex min-h-8 flex-wrap items-center gap-2">
        {picked.length > 0 ? (
          <>
            <span className="tabular-nums">
              {count(picked.length)}, {formatBytes(picked.reduce((sum, { size }) => sum + size, 0))}
            </span>
            <Button size="sm" tone="danger" icon={<Trash2 />} onClick={() => setDeleting(picked)}>
              Delete
            </Button>
            <Button size="sm" tone="quiet" onClick={() => setChosen(new Set())}>
              Choose none
            </Button>
          </>
        ) : (
          <>
            <Input
              ref={searchBox}
              icon={<Search />}
              aria-label="Search artifacts"
              placeholder="Search by name, session or hash"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
              className="w-full sm:w-72"
            />
            <Select label="Type" value={type} onChange={setType} options={ARTIFACT_TYPES} />
            {filtered && (
              <span role="status" className="text-xs text-muted tabular-nums">
                {rows.length.toLocaleString()} of {all.length.toLocaleString()}
                {hasNextPage && all.length >= SEARCHED && ", older ones were not searched"}
              </span>
            )}
          </>
        )}
        <div className="sm:ml-auto">{quota}</div>
      </div>
      <div ref={body} className="flex min-h-0 flex-1 gap-3">
        {(beside || !panel) && (
          <Table
            label="Artifacts"
            className="flex-1"
            width={beside && panel ? width * 0.5 : width}
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            loading={query.isPending}
            selected={({ id }) => id === open || chosen.has(id)}
            onOpen={({ id }) => setOpen(id)}
            onEnd={() => hasNextPage && !isFetchingNextPage && void fetchNextPage()}
            empty={
              <div className="min-w-0 flex-1">
                {filtered ? (
                  <EmptyState icon={<Search />} title="Nothing matches">
                    None of {all.length.toLocaleString()} artifacts has these words and this type.
                  </EmptyState>
                ) : (
                  empty
                )}
              </div>
            }
          />
        )}
        {panel && <div className={beside ? "w-1/2 min-w-0" : "min-w-0 flex-1"}>{panel}</div>}
      </div>
      <ConfirmDialog
        open={deleting !== null}
        onOpenChange={(next) => !next && setDeleting(null)}
        title={deleting?.length === 1 ? "Delete this artifact?" : `Delete ${count(deleting?.length ?? 0)}?`}
        action="Delete"
        onConfirm={remove}
      >
        <p className="break-words">
          {(deleting ?? [])
            .slice(0, 5)
            .map(({ name }) => name)
            .join(", ")}
          {deleting && deleting.length > 5 && ` and ${deleting.length - 5} more`}
        </p>
        <p>Links to what is deleted stop working. This cannot be taken back.</p>
      </ConfirmDialog>
    </>
  );
}

const count = (n: number) => `${n.toLocaleString()} ${n === 1 ? "artifact" : "artifacts"}`;
