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
import { Time } from "../../ui/time.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { AddHost } from "./add-host.tsx";
import { HostActions } from "./host-actions.tsx";
import { HostDialog } from "./host-dialog.tsx";
import { useDrains } from "./use-drains.ts";

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
  const drains = useDrains(hosts);
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
          {host.cordoned && <Badge tone="warn">cordoned</Badge>}
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
          drain={drains.of(host)}
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
      cell: (host) => <Time at={host.last_seen_at} />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      width: "1.75rem",
      cell: (host) => <HostActions host={host} onDrain={() => drains.began(host)} />,
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
      <HostDialog host={opened} onClose={() => setOpen(null)} drain={opened && drains.of(opened)} />
    </Page>
  );
}

function Summary({ hosts }: { hosts: readonly Host[] }) {
  const { online, sessions, room } = useMemo(() => {
    const usable = hosts.filter(({ status, cordoned }) => status === "online" && !cordoned);
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
  drain?: { from: number; left: number } | null;
}) {
  if (drain)
    return (
      <span className="block space-y-1">
        <span className="block text-xs text-warn tabular-nums">
          {drain.left === 0 ? "drained" : `draining, ${drain.left} left`}
        </span>
        <Meter value={drain.from - drain.left} max={drain.from || 1} label={`Drained: ${label}`} calm />
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
