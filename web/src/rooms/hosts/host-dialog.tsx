import type { Host } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useMe } from "../../api/me.ts";
import { isLive } from "../../api/session-live.ts";
import { sessionsQuery } from "../../api/sessions-query.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { languageName } from "../../ui/language-name.ts";
import { StateDot } from "../../ui/state-dot.tsx";
import { Time } from "../../ui/time.tsx";
import { hostLoadQuery } from "./host-load.ts";
import { LastSeen } from "./last-seen.tsx";

const MB = 1024 * 1024;

/** Everything that is known of a host. */
export function HostDialog({ host, onClose }: { host: Host | null; onClose: () => void }) {
  return (
    <Dialog open={host !== null} onOpenChange={(next) => !next && onClose()} title={host?.name ?? "Host"}>
      {host && (
        <>
          <dl className="grid grid-cols-[8rem_1fr] gap-x-4 gap-y-1.5 [&_dt]:text-faint">
            <Row name="Id">
              <code className="text-xs break-all">{host.id}</code>
              <CopyButton text={host.id} label="Copy the id" className="-my-1" />
            </Row>
            <Row name="Status">
              <StateDot state={host.status} />
              {host.cordoned && <Badge tone="warn">{host.drain?.state ?? "cordoned"}</Badge>}
              {host.drain && (
                <span className="text-muted tabular-nums">
                  {host.drain.left} of {host.drain.sessions} sessions left, since{" "}
                  <Time at={host.drain.began_at} />
                </span>
              )}
            </Row>
            {host.capacity?.refuses && (
              <Row name="Takes no sessions">
                <span className="text-warn">{host.capacity.refuses}</span>
              </Row>
            )}
            <Row name="Sessions">
              {host.sessions} of {host.capacity?.max_sessions ?? "–"}
            </Row>
            <Row name="Memory reserved">
              {formatBytes(host.memory_reserved_mb * MB)} of{" "}
              {host.capacity ? formatBytes(host.capacity.memory_mb * MB) : "–"}
            </Row>
            <Row name="CPUs">{host.capacity?.cpus ?? "–"}</Row>
            {host.status === "online" && <Load host={host} />}
            {host.capacity?.engines?.map(({ engine, runtimes, capabilities }) => (
              <Row key={engine} name={engine === "wasm" ? "WebAssembly" : "Containers"}>
                <span>{runtimes.map(languageName).join(", ") || "no runtime"}</span>
                <span className="text-faint">{capabilities.join(", ").replaceAll("_", " ")}</span>
              </Row>
            )) ?? <Row name="Runtimes">{host.capacity?.runtimes.map(languageName).join(", ") || "–"}</Row>}
            <Row name="Version">
              <code className="text-xs">{host.version ?? "–"}</code>
            </Row>
            <Row name="Last seen">
              <LastSeen host={host} />
            </Row>
            <Row name="Joined">
              <Time at={host.joined_at} />
            </Row>
            <Row name="Connections">{host.epoch} since it joined</Row>
          </dl>
          {host.sessions > 0 && <SessionsOn host={host} />}
        </>
      )}
    </Dialog>
  );
}

/** What only the host itself knows. */
function Load({ host }: { host: Host }) {
  const { data, error } = useQuery(hostLoadQuery(host, 5_000));
  const waiting = error ? "it does not say" : "…";
  return (
    <>
      <Row name="Load">
        {data ? data.load_average.map((load) => load.toFixed(2)).join("  ") : waiting}
        {data && <span className="text-faint">over 1, 5 and 15 minutes</span>}
      </Row>
      <Row name="Memory free">
        {data ? `${formatBytes(data.memory_available_bytes)} of ${formatBytes(data.memory_bytes)}` : waiting}
      </Row>
      <Row name="Disk free">
        {data ? `${formatBytes(data.disk_available_bytes)} of ${formatBytes(data.disk_bytes)}` : waiting}
      </Row>
      <Row name="Warm pool">
        {data
          ? data.pool.map(({ runtime, ready, wanted }) => `${runtime} ${ready} of ${wanted}`).join(", ") ||
            "none"
          : waiting}
      </Row>
    </>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-2">{children}</dd>
    </>
  );
}

/** Those of one's own tenant; of others only their number is told. */
function SessionsOn({ host }: { host: Host }) {
  const me = useMe();
  const runsCode = me.scopes.includes("agent");
  const { data } = useQuery({ ...sessionsQuery, enabled: runsCode });
  const own = (data ?? []).filter((session) => session.host_id === host.id && isLive(session));
  const others = host.sessions - own.length;
  return (
    <section className="mt-5">
      <h3 className="mb-1.5 font-semibold">Sessions</h3>
      <ul className="divide-y rounded-lg border">
        {own.slice(0, 50).map((session) => (
          <li key={session.id} className="flex items-center gap-3 px-3 py-1.5">
            <Link
              to="/sessions/$id"
              params={{ id: session.id }}
              className="min-w-0 flex-1 truncate text-accent hover:underline"
            >
              {session.key}
            </Link>
            <StateDot state={session.status} className="text-muted" />
          </li>
        ))}
        {others > 0 && (
          <li className="px-3 py-1.5 text-muted">
            {own.length > 0 ? `${others} more` : `${others}`} that{" "}
            {runsCode ? "are another tenant's" : "your key cannot see"}
          </li>
        )}
      </ul>
    </section>
  );
}
