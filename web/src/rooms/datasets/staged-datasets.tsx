import { type DatasetList, Session, type SessionRecord } from "@sandbar/sdk";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { StageDataset } from "./stage-dataset.tsx";
import { type Staged, StagedTable } from "./staged-table.tsx";
import { ThreeModes } from "./three-modes.tsx";

/** Each session is one request, so that many are asked about step by step. */
const SESSIONS = 20;
const STAGING_MS = 1000;

/** The datasets of these sessions, and what can be done with them. */
export function StagedDatasets({
  sessions,
  loading,
  withSession = false,
  heading,
  nothing,
}: {
  sessions: readonly SessionRecord[];
  loading: boolean;
  withSession?: boolean;
  heading?: ReactNode;
  /** The title when there is nothing. */
  nothing: string;
}) {
  const client = useQueryClient();
  const [limit, setLimit] = useState(SESSIONS);
  const [staging, setStaging] = useState(false);
  const [again, setAgain] = useState<Staged | null>(null);
  const [removing, setRemoving] = useState<Staged | null>(null);
  const asked = sessions.slice(0, limit);
  const lists = useQueries({
    queries: asked.map((session) => ({
      queryKey: keys.sessionDatasets(session.id),
      queryFn: () => of(session).datasets.list(),
      // Asking a session counts as using it, so nobody asks for long.
      refetchInterval: ({ state }: { state: { data?: DatasetList } }) =>
        state.data?.data.some(({ status }) => status === "PENDING") ? STAGING_MS : false,
    })),
  });
  const rows = asked.flatMap((session, index): Staged[] => {
    const list = lists[index]?.data;
    return list?.data.map((dataset) => ({ session, access: list.access, dataset })) ?? [];
  });
  const failed = lists.find(({ error, data }) => error && !data);
  const targets = sessions.filter(({ datasets }) => datasets.access === "API");
  const refresh = (session: string) => client.invalidateQueries({ queryKey: keys.sessionDatasets(session) });
  const open = () => {
    setAgain(null);
    setStaging(true);
  };
  useCommands(
    targets.length > 0
      ? [{ id: "dataset-stage", title: "Stage a dataset", group: "Datasets", shortcut: "c", run: open }]
      : [],
  );
  const stage = targets.length > 0 && (
    <Button tone="primary" icon={<Plus />} onClick={open}>
      Stage a dataset
    </Button>
  );
  return (
    <section className="space-y-3">
      {(heading || rows.length > 0) && (
        <div className="flex min-h-8 items-center justify-between gap-3">
          {heading ?? <span />}
          {rows.length > 0 && stage}
        </div>
      )}
      {failed && <ErrorNote error={failed.error} onRetry={() => void failed.refetch()} />}
      {!(failed && rows.length === 0) && (
        <StagedTable
          rows={rows}
          withSession={withSession}
          loading={loading || (rows.length === 0 && lists.some(({ isPending }) => isPending))}
          empty={<ThreeModes title={nothing} action={stage || undefined} />}
          onRefresh={(staged) => {
            setAgain(staged);
            setStaging(true);
          }}
          onExport={({ session, dataset }) => {
            handle(session.id)
              .then(({ datasets }) => datasets.export(dataset.id))
              .then(
                ({ name }) => toast("Kept as an artifact", name),
                (error: unknown) => toastError(error, "Keep"),
              );
          }}
          onRemove={setRemoving}
        />
      )}
      {sessions.length > limit && (
        <Button onClick={() => setLimit(limit + SESSIONS)}>
          Look into {Math.min(SESSIONS, sessions.length - limit)} more of {sessions.length} sessions
        </Button>
      )}
      <StageDataset
        open={staging}
        onOpenChange={setStaging}
        targets={targets}
        again={again && { session: again.session.id, id: again.dataset.id }}
        onStaged={() => {
          for (const { id } of targets) void refresh(id);
        }}
      />
      <ConfirmDialog
        open={removing !== null}
        onOpenChange={(next) => !next && setRemoving(null)}
        title={`Take ${removing?.dataset.id} out of the session?`}
        action="Take out"
        onConfirm={async () => {
          const { session, dataset } = removing!;
          await (await handle(session.id)).datasets.remove(dataset.id);
          await refresh(session.id);
        }}
      >
        <p>
          <code className="break-all">{removing?.dataset.path}</code> goes, also when code has changed it.
          Where it came from, it stays.
        </p>
      </ConfirmDialog>
    </section>
  );
}

const of = (session: SessionRecord) => new Session(sandbar.http, session);
const handle = (id: string) => sandbar.getSession(id);
