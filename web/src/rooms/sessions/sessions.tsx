import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { CircleStop, Filter, Plug, Plus, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useLiveInterval } from "../../api/live.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { isLive } from "../../api/session-live.ts";
import { metricsQuery, SESSIONS_SHOWN, sessionsQuery } from "../../api/sessions-query.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { CreateSessionDialog } from "./create-session.tsx";
import { FirstRun } from "./first-run.tsx";
import { sessionColumns } from "./session-columns.tsx";
import { matching, type Shown } from "./session-filter.ts";
import { Snippets } from "./snippets.tsx";
import { stopSessions } from "./stop-sessions.ts";

const SHOWN = [
  { value: "live", label: "Live" },
  { value: "ended", label: "Ended" },
  { value: "all", label: "All" },
] as const;

export function Sessions() {
  useCrumbs([{ label: "Sessions" }]);
  const me = useMe();
  const navigate = useNavigate();
  const { q = "", show = "live" } = useSearch({ from: "/inside/sessions" });
  const interval = useLiveInterval();
  const sessions = useQuery({ ...sessionsQuery, refetchInterval: interval });
  const metrics = useQuery({ ...metricsQuery, enabled: sessions.data?.some(isLive) ?? false });
  const hosts = useQuery({
    queryKey: keys.hosts,
    queryFn: () => sandbar.hosts.list().all(),
    enabled: mayOperate(me),
  });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [stopping, setStopping] = useState<readonly string[] | null>(null);
  const [creating, setCreating] = useState(false);
  const [connecting, setConnecting] = useState(false);
  const [ref, width] = useWidth<HTMLDivElement>();

  const hostName = useMemo(() => {
    const names = new Map(hosts.data?.map(({ id, name }) => [id, name]));
    return (id: string) => names.get(id) ?? id;
  }, [hosts.data]);
  const rows = useMemo(
    () => matching(sessions.data ?? [], { text: q, show }, hostName),
    [sessions.data, q, show, hostName],
  );
  const live = sessions.data?.filter(isLive) ?? [];
  const chosenLive = live.filter(({ id }) => chosen.has(id)).map(({ id }) => id);
  const search = (next: { q?: string; show?: Shown }) => {
    const shown = next.show ?? show;
    void navigate({
      to: "/sessions",
      replace: true,
      search: { q: (next.q ?? q) || undefined, show: shown === "live" ? undefined : shown },
    });
  };

  useCommands([
    {
      id: "session.new",
      title: "New session",
      group: "Sessions",
      icon: <Plus />,
      shortcut: "c",
      run: () => setCreating(true),
    },
    {
      id: "session.connect",
      title: "Connect a client",
      group: "Sessions",
      icon: <Plug />,
      keywords: "curl sdk python mcp langgraph",
      run: () => setConnecting(true),
    },
    {
      id: "session.find",
      title: "Search sessions",
      group: "Sessions",
      icon: <Search />,
      shortcut: "/",
      run: () => document.getElementById("session-search")?.focus(),
    },
  ]);

  const liveRows = rows.filter(isLive);
  const columns = sessionColumns({
    chosen,
    liveRows,
    onChoose: setChosen,
    metrics: metrics.data,
    hostName,
    onStop: (id) => setStopping([id]),
  });

  const nothing = sessions.isSuccess && sessions.data.length === 0;
  return (
    <Page
      title="Sessions"
      filters={
        !nothing && (
          <>
            <Input
              id="session-search"
              aria-label="Search sessions"
              icon={<Search />}
              className="w-full sm:w-72"
              placeholder="Key, label, runtime, host…"
              value={q}
              onChange={(event) => search({ q: event.target.value })}
            />
            <Segments
              label="Which sessions"
              value={show}
              options={SHOWN}
              onChange={(next) => search({ show: next })}
            />
            <span className="text-xs text-faint tabular-nums" aria-live="polite">
              {sessions.data &&
                (rows.length === 1 ? "1 session" : `${rows.length.toLocaleString()} sessions`)}
              {(sessions.data?.length ?? 0) >= SESSIONS_SHOWN &&
                ` among the newest ${SESSIONS_SHOWN.toLocaleString()}`}
            </span>
          </>
        )
      }
      actions={
        <>
          {chosenLive.length > 0 && (
            <Button icon={<CircleStop />} onClick={() => setStopping(chosenLive)}>
              Stop {chosenLive.length}
            </Button>
          )}
          {!nothing && (
            <Button icon={<Plug />} onClick={() => setConnecting(true)}>
              Connect
            </Button>
          )}
          {!nothing && (
            <Button tone="primary" icon={<Plus />} onClick={() => setCreating(true)}>
              New session
            </Button>
          )}
        </>
      }
    >
      {sessions.isError && (
        <ErrorNote error={sessions.error} onRetry={() => void sessions.refetch()} className="mb-3" />
      )}
      <div ref={ref} className="flex min-h-0 flex-1 flex-col">
        {nothing ? (
          <FirstRun onCreate={() => setCreating(true)} />
        ) : (
          <Table
            label="Sessions"
            rows={rows}
            columns={columns}
            width={width}
            rowKey={({ id }) => id}
            loading={sessions.isPending}
            selected={({ id }) => chosen.has(id)}
            onOpen={({ id }) => void navigate({ to: "/sessions/$id", params: { id } })}
            className="max-h-full"
            empty={
              <EmptyState
                icon={<Filter />}
                title={
                  q ? "No session matches" : show === "live" ? "No session is live" : "No session has ended"
                }
                action={
                  q || show !== "all" ? (
                    <Button onClick={() => search({ q: "", show: "all" })}>Show all</Button>
                  ) : undefined
                }
              >
                {q
                  ? `Nothing among ${show === "all" ? "all" : show} sessions has “${q}” in its key, labels, runtime or host.`
                  : "A session ends when it is stopped, idle for its time, or at the end of its life."}
              </EmptyState>
            }
          />
        )}
      </div>
      <CreateSessionDialog open={creating} onOpenChange={setCreating} />
      <Dialog
        open={connecting}
        onOpenChange={setConnecting}
        title="Connect a client"
        description="Everything the console does goes through the same API."
        width="lg"
      >
        <Snippets />
      </Dialog>
      <ConfirmDialog
        open={stopping !== null}
        onOpenChange={(open) => !open && setStopping(null)}
        title={stopping?.length === 1 ? "Stop this session?" : `Stop ${stopping?.length} sessions?`}
        action={stopping?.length === 1 ? "Stop session" : `Stop ${stopping?.length} sessions`}
        onConfirm={async () => {
          await stopSessions(stopping ?? []);
          toast(stopping?.length === 1 ? "The session stops" : `${stopping?.length} sessions stop`);
          setChosen(new Set());
        }}
      >
        Variables, processes and files in memory are lost. What lies in <code>/session/artifacts</code> is
        kept.
      </ConfirmDialog>
    </Page>
  );
}
