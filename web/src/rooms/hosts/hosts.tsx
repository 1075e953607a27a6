import type { Host } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Plus, Server } from "lucide-react";
import { useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useLiveInterval } from "../../api/live.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { NotForYou } from "../../shell/not-for-you.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Meter } from "../../ui/meter.tsx";
import { Page } from "../../ui/page.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { AddHost } from "./add-host.tsx";
import { HostActions } from "./host-actions.tsx";
import { HostDialog } from "./host-dialog.tsx";
import { hostLoadQuery } from "./host-load.ts";
import { LastSeen } from "./last-seen.tsx";

const MB = 1024 * 1024;

export function HostsRoom() {
  useCrumbs([{ label: "Hosts" }]);
  return mayOperate(useMe()) ? <HostList /> : <NotForYou title="Hosts" scope="operator" />;
}

function HostList() {
  const interval = useLiveInterval();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.hosts,
    queryFn: () => sandbar.hosts.list().all(),
    // Also while events come: when a host was last heard of is no event.
    refetchInterval: interval || 10_000,
  });
  const [adding, setAdding] = useState(false);
  const [open, setOpen] = useState<string | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const hosts = data ?? [];
  const opened = hosts.find(({ id }) => id === open) ?? null;
  useCommands([
    { id: "host-add", title: "Add a host", group: "Hosts", shortcut: "c", run: () => setAdding(true) },
  ]);

  const columns: Column<Host>[] = [
    {
      id: "name",
      header: "Host",
      width: "minmax(5rem, 2fr)",
      cell: (host) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="min-w-0 truncate font-medium" title={host.id}>
            {host.name}
          </span>
          {host.cordoned && <Badge tone="warn">{host.drain?.state ?? "cordoned"}</Badge>}
          {host.capacity?.refuses && (
            <span title={host.capacity.refuses}>
              <Badge tone="warn">takes no sessions</Badge>
            </span>
          )}
        </span>
      ),
    },
    {
      id: "status",
      header: "Status",
      width: "6rem",
      cell: (host) => <StateDot state={host.status} />,
    },
    {
      id: "sessions",
      header: "Sessions",
      width: "minmax(4rem, 8rem)",
      cell: (host) => (
        <Share
          used={host.sessions}
          of={host.capacity?.max_sessions ?? null}
          text={String}
          drain={host.drain}
          label={`Sessions on ${host.name}`}
        />
      ),
    },
    {
      id: "memory",
      header: "Memory reserved",
      width: "minmax(8rem, 10rem)",
      from: "lg",
      cell: (host) => (
        <Share
          used={host.memory_reserved_mb}
          of={host.capacity?.memory_mb ?? null}
          text={(mb) => formatBytes(mb * MB)}
          label={`Memory reserved on ${host.name}`}
        />
      ),
    },
    {
      id: "cpus",
      header: "CPUs",
      width: "3rem",
      align: "right",
      from: "lg",
      cell: (host) => host.capacity?.cpus ?? "–",
    },
    {
      id: "load",
      header: "Load",
      width: "3.5rem",
      align: "right",
      from: "lg",
      cell: (host) => <LoadNow host={host} />,
    },
    {
      id: "pool",
      header: "Warm",
      width: "3.5rem",
      align: "right",
      from: "lg",
      cell: (host) => <WarmNow host={host} />,
    },
    {
      id: "version",
      header: "Version",
      width: "4.5rem",
      from: "md",
      cell: (host) => <code className="text-xs text-muted">{host.version ?? "–"}</code>,
    },
    {
      id: "seen",
      header: "Last seen",
      width: "5.5rem",
      from: "sm",
      cell: (host) => <LastSeen host={host} />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      width: "1.75rem",
      cell: (host) => <HostActions host={host} />,
    },
  ];

  return (
    <Page
      title="Hosts"
      filters={data && data.length > 0 && <Summary hosts={hosts} />}
      actions={
        <Button tone="primary" icon={<Plus />} onClick={() => setAdding(true)}>
          Add a host
        </Button>
      }
    >
      <div ref={body} className="flex min-h-0 flex-1 flex-col">
        {error && !data ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <Table
            label="Hosts"
            className="max-h-full"
            rowHeight={48}
            width={width}
            rows={hosts}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => setOpen(id)}
            loading={isPending}
            empty={
              <EmptyState
                icon={<Server />}
                title="No hosts yet"
                action={
                  <Button tone="primary" icon={<Plus />} onClick={() => setAdding(true)}>
                    Add a host
                  </Button>
                }
              >
                Sessions run on hosts: any Linux machine with Docker that can reach this address. It needs no
                open port.
              </EmptyState>
            }
          />
        )}
      </div>
      <AddHost open={adding} onOpenChange={setAdding} hosts={data} />
      <HostDialog host={opened} onClose={() => setOpen(null)} />
    </Page>
  );
}

function Summary({ hosts }: { hosts: readonly Host[] }) {
  const { online, sessions, room } = useMemo(() => {
    const usable = hosts.filter(
      ({ status, cordoned, capacity }) => status === "online" && !cordoned && !capacity?.refuses,
    );
    return {
      online: hosts.filter(({ status }) => status === "online").length,
      sessions: hosts.reduce((sum, host) => sum + host.sessions, 0),
      room: usable.reduce(
        (sum, host) => sum + Math.max(0, (host.capacity?.max_sessions ?? 0) - host.sessions),
        0,
      ),
    };
  }, [hosts]);
  return (
    <p className="text-muted tabular-nums">
      {online} of {hosts.length} online, {sessions} {sessions === 1 ? "session" : "sessions"}, room for {room}{" "}
      more
    </p>
  );
}

const LIST_LOAD_MS = 10_000;

/** Of the last minute: more than the machine's CPUs means that something waits. */
function LoadNow({ host }: { host: Host }) {
  const { data } = useQuery(hostLoadQuery(host, LIST_LOAD_MS));
  const load = data?.load_average[0];
  if (load === undefined) return <span className="text-faint">–</span>;
  const crowded = load > 2 * (host.capacity?.cpus ?? Number.POSITIVE_INFINITY);
  return <span className={crowded ? "text-warn" : undefined}>{load.toFixed(1)}</span>;
}

/** Boxes that wait for a session. */
function WarmNow({ host }: { host: Host }) {
  const { data } = useQuery(hostLoadQuery(host, LIST_LOAD_MS));
  if (!data || data.pool.length === 0) return <span className="text-faint">–</span>;
  const sum = (field: "ready" | "wanted") => data.pool.reduce((all, each) => all + each[field], 0);
  return (
    <span
      title={data.pool.map(({ runtime, ready, wanted }) => `${runtime} ${ready} of ${wanted}`).join(", ")}
    >
      {sum("ready")}/{sum("wanted")}
    </span>
  );
}

/** How much of something is taken; while a host is drained, how far that is. */
function Share({
  used,
  of,
  text,
  label,
  drain,
}: {
  used: number;
  of: number | null;
  text: (n: number) => string;
  label: string;
  drain?: Host["drain"];
}) {
  if (drain?.state === "draining")
    return (
      <span className="block space-y-1">
        <span className="block truncate text-xs text-warn tabular-nums">
          {drain.left} of {drain.sessions} left
        </span>
        <Meter value={drain.sessions - drain.left} max={drain.sessions} label={`Drained: ${label}`} calm />
      </span>
    );
  return (
    <span className="block space-y-1">
      <span className="block truncate text-xs tabular-nums">
        {text(used)}
        {of !== null && <span className="text-faint"> of {text(of)}</span>}
      </span>
      {of !== null && <Meter value={used} max={of} label={label} />}
    </span>
  );
}
