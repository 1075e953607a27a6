import type { SessionNetwork } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Globe, Pencil } from "lucide-react";
import { type ReactNode, useState } from "react";
import { keys } from "../../api/keys.ts";
import { useCommands } from "../../shell/commands.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { isAlive, useSession } from "../session/use-session.ts";
import { ChangeRules } from "./change-rules.tsx";
import { Connections } from "./connections.tsx";

const OFTEN_MS = 3000;

/** What the session may reach by name, and what it has reached. */
export function SessionNetworkRoom() {
  const session = useSession();
  const client = useQueryClient();
  const alive = isAlive(session);
  const ruled = typeof session.info.network === "object";
  const [changing, setChanging] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: keys.network(session.id),
    queryFn: () => session.network(),
    enabled: alive && ruled,
    refetchInterval: OFTEN_MS,
  });
  useCommands(
    alive && ruled
      ? [
          {
            id: "network.change",
            title: "Change what it may reach",
            group: "Network",
            icon: <Pencil />,
            run: () => setChanging(true),
          },
        ]
      : [],
  );
  if (!ruled)
    return (
      <EmptyState icon={<Globe />} title="This session has no rules">
        A session that is made with <em>Some hosts</em> as its network reaches those by name, and says here
        what it reached. This one's network is <code>{String(session.info.network)}</code>.
      </EmptyState>
    );
  if (!alive)
    return (
      <EmptyState icon={<Globe />} title="The session has ended">
        What it reached is among its events.
      </EmptyState>
    );
  if (error && !data)
    return <ErrorNote error={error} onRetry={() => void refetch()} className="m-4 sm:mx-6" />;
  if (!data) return <Skeleton className="m-4 h-32 sm:mx-6" />;
  return (
    <div className="flex h-full min-h-0 flex-col gap-3 px-4 pt-3 pb-4 sm:px-6">
      <div className="grid shrink-0 gap-3 lg:grid-cols-2">
        <Rules network={data} onChange={() => setChanging(true)} />
        <Use network={data} />
      </div>
      <Connections recent={data.use.recent} />
      {changing && (
        <ChangeRules
          session={session}
          network={data}
          onClose={() => setChanging(false)}
          onChanged={(changed) => {
            client.setQueryData(keys.network(session.id), changed);
            void client.invalidateQueries({ queryKey: keys.session(session.id), exact: true });
          }}
        />
      )}
    </div>
  );
}

function Rules({ network: { allow, secrets }, onChange }: { network: SessionNetwork; onChange: () => void }) {
  return (
    <section aria-label="Rules" className="rounded-lg border bg-surface px-3 py-2.5">
      <div className="mb-1.5 flex items-center justify-between gap-3">
        <h2 className="font-semibold">What it may reach</h2>
        <Button size="sm" icon={<Pencil />} onClick={onChange}>
          Change
        </Button>
      </div>
      {allow.length + secrets.length === 0 && <p className="text-muted">Nothing yet.</p>}
      <ul className="flex flex-wrap gap-1.5">
        {allow.map((rule) => (
          <li key={rule}>
            <Badge>
              <code>{rule}</code>
            </Badge>
          </li>
        ))}
      </ul>
      {secrets.length > 0 && (
        <ul className="mt-2 space-y-1 text-xs">
          {secrets.map(({ host, header, secret }) => (
            <li key={`${host} ${header}`} className="text-muted">
              <code className="text-text">{host}</code> gets <code className="text-text">{header}</code>
              {secret ? (
                <>
                  {" "}
                  from the secret <code className="text-text">{secret}</code>
                </>
              ) : (
                " with a value of the session's own"
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Use({ network: { use } }: { network: SessionNetwork }) {
  return (
    <section aria-label="Use" className="rounded-lg border bg-surface px-3 py-2.5">
      <h2 className="mb-1.5 font-semibold">What it has reached</h2>
      <dl className="grid grid-cols-3 gap-x-4 gap-y-2 sm:grid-cols-5">
        <Figure name="Connections">{use.connections.toLocaleString()}</Figure>
        <Figure name="Open now">{use.open.toLocaleString()}</Figure>
        <Figure name="Denied">{use.denied.toLocaleString()}</Figure>
        <Figure name="Sent">{formatBytes(use.bytes_up)}</Figure>
        <Figure name="Received">{formatBytes(use.bytes_down)}</Figure>
      </dl>
    </section>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-xs text-faint">{name}</dt>
      <dd className="text-base font-semibold tabular-nums">{children}</dd>
    </div>
  );
}
