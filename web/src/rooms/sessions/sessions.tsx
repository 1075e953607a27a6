import type { SessionRecord } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { CircleStop, Filter, Plug, Plus, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useLiveInterval } from "../../api/live.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input } from "../../ui/input.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Page } from "../../ui/page.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Sparkline } from "../../ui/sparkline.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { CreateSessionDialog } from "./create-session.tsx";
import { FirstRun } from "./first-run.tsx";
import { isLive, matching, type Shown } from "./session-filter.ts";
import { metricsQuery, SESSIONS_SHOWN, sessionsQuery } from "./sessions-query.ts";
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
  const toggle = (id: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    setChosen(next);
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
    ...live.slice(0, 50).map((session) => ({
      id: `open.${session.id}`,
      title: session.key,
      group: "Open session",
      icon: <span aria-hidden className="size-4" />,
      keywords: `${session.id} ${session.runtime}`,
      run: () => void navigate({ to: "/sessions/$id", params: { id: session.id } }),
    })),
  ]);

  const liveRows = rows.filter(isLive);
  const allChosen = liveRows.length > 0 && liveRows.every(({ id }) => chosen.has(id));
  const columns: Column<SessionRecord>[] = [
    {
      id: "choose",
      width: "1rem",
      from: "sm",
      header: (
        <Checkbox
          label="Choose all"
          checked={allChosen ? true : chosenLive.length > 0 ? "indeterminate" : false}
          onChange={(on) => setChosen(on ? new Set(liveRows.map(({ id }) => id)) : new Set())}
        />
      ),
      cell: (session) =>
        isLive(session) && (
          <Checkbox
            label={`Choose ${session.key}`}
            checked={chosen.has(session.id)}
            onChange={(on) => toggle(session.id, on)}
          />
        ),
    },
    { id: "state", header: "State", width: "5.5rem", cell: (session) => <StateDot state={session.status} /> },
    {
      id: "key",
      header: "Session",
      width: "minmax(9rem, 3fr)",
      cell: (session) => <Name session={session} />,
    },
    {
      id: "runtime",
      header: "Runtime",
      width: "4.5rem",
      from: "sm",
      cell: ({ runtime }) => <span className="text-muted">{languageName(runtime)}</span>,
    },
    {
      id: "cpu",
      header: "CPU",
      width: "8rem",
      from: "md",
      cell: (session) => {
        const samples = isLive(session) ? metrics.data?.get(session.id) : undefined;
        const now = samples?.at(-1);
        if (!now) return null;
        return (
          <span className="flex items-center justify-between gap-2">
            <Sparkline
              values={samples!.map(({ cpu_percent }) => cpu_percent)}
              max={Math.max(100, session.limits.cpus * 100)}
              label={`CPU, now ${Math.round(now.cpu_percent)} %`}
            />
            <span className="text-xs tabular-nums text-muted">{Math.round(now.cpu_percent)} %</span>
          </span>
        );
      },
    },
    {
      id: "memory",
      header: "Memory",
      width: "9.5rem",
      from: "lg",
      cell: (session) => {
        const samples = isLive(session) ? metrics.data?.get(session.id) : undefined;
        const now = samples?.at(-1);
        if (!now) return null;
        return (
          <span className="flex items-center justify-between gap-2">
            <Sparkline
              values={samples!.map(({ memory_bytes }) => memory_bytes)}
              max={session.limits.memory_mb * 1024 * 1024}
              label={`Memory, now ${formatBytes(now.memory_bytes)} of ${session.limits.memory_mb} MB`}
            />
            <span className="text-xs tabular-nums text-muted">{formatBytes(now.memory_bytes)}</span>
          </span>
        );
      },
    },
    {
      id: "host",
      header: "Host",
      width: "minmax(5rem, 1fr)",
      from: "lg",
      cell: ({ host_id }) => <span className="text-muted">{host_id ? hostName(host_id) : "–"}</span>,
    },
    {
      id: "used",
      header: "Used",
      width: "5rem",
      align: "right",
      from: "lg",
      cell: ({ last_used_at }) => (
        <span className="text-muted">
          <Time at={last_used_at} style="age" />
        </span>
      ),
    },
    {
      id: "age",
      header: "Age",
      width: "2.5rem",
      align: "right",
      cell: ({ created_at }) => (
        <span className="text-muted">
          <Time at={created_at} style="age" />
        </span>
      ),
    },
    {
      id: "stop",
      header: <span className="sr-only">Actions</span>,
      width: "1.75rem",
      from: "md",
      cell: (session) =>
        isLive(session) && (
          <IconButton
            label={`Stop ${session.key}`}
            icon={<CircleStop />}
            danger
            disabled={session.status === "stopping"}
            onClick={() => setStopping([session.id])}
          />
        ),
    },
  ];

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

function Name({ session }: { session: SessionRecord }) {
  const labels = Object.entries(session.labels);
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Link
        to="/sessions/$id"
        params={{ id: session.id }}
        className="truncate rounded font-medium hover:text-accent"
      >
        {session.key}
      </Link>
      {session.error && <code className="truncate text-xs text-danger">{session.error.code}</code>}
      {labels.slice(0, 3).map(([name, value]) => (
        <span
          key={name}
          className="hidden shrink truncate rounded bg-hover px-1.5 text-xs text-muted lg:inline"
        >
          {value ? `${name}=${value}` : name}
        </span>
      ))}
    </span>
  );
}
