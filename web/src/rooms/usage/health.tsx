import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useLiveInterval } from "../../api/live.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { problemOf } from "../../api/problem.ts";
import { StateDot } from "../../ui/state-dot.tsx";

const ASK_MS = 15_000;

/** Whether the parts do what they should, as seen from this browser. */
export function Health() {
  const me = useMe();
  const events = useLiveInterval() === false;
  const plane = useQuery({
    queryKey: ["health"],
    queryFn: async () => {
      const begun = performance.now();
      await sandbar.health();
      return performance.now() - begun;
    },
    refetchInterval: ASK_MS,
  });
  const database = useQuery({
    queryKey: keys.usage,
    queryFn: () => sandbar.usage(),
    refetchInterval: ASK_MS,
  });
  const hosts = useQuery({
    queryKey: keys.hosts,
    queryFn: () => sandbar.hosts.list().all(),
    enabled: mayOperate(me),
    refetchInterval: ASK_MS,
  });
  const online = hosts.data?.filter(({ status }) => status === "online").length ?? 0;
  return (
    <section aria-label="Health" className="rounded-lg border bg-surface px-3 py-2.5">
      <h2 className="mb-1.5 font-semibold">Health</h2>
      <ul className="space-y-1">
        <Part name="Control plane" state={stateOf(plane)}>
          {plane.data === undefined
            ? explain(plane.error)
            : `answers in ${Math.max(1, Math.round(plane.data))} ms`}
        </Part>
        <Part name="Database" state={stateOf(database)}>
          {database.data ? "answers" : explain(database.error)}
        </Part>
        <Part name="Event stream" state={events ? "ok" : "unreachable"}>
          {events ? "live" : "away; lists ask again every few seconds"}
        </Part>
        {mayOperate(me) && (
          <Part
            name="Hosts"
            state={
              !hosts.data
                ? stateOf(hosts)
                : online === 0
                  ? "error"
                  : online < hosts.data.length
                    ? "unreachable"
                    : "ok"
            }
          >
            {hosts.data ? (
              <Link to="/hosts" className="hover:text-accent hover:underline">
                {online} of {hosts.data.length} online
              </Link>
            ) : (
              explain(hosts.error)
            )}
          </Part>
        )}
      </ul>
    </section>
  );
}

function Part({ name, state, children }: { name: string; state: string; children: ReactNode }) {
  return (
    <li className="flex items-baseline justify-between gap-3">
      <StateDot state={state} label={name} />
      <span className="min-w-0 truncate text-xs text-muted tabular-nums">{children}</span>
    </li>
  );
}

const stateOf = ({ data, error }: { data: unknown; error: unknown }) =>
  error ? "error" : data === undefined ? "queued" : "ok";

function explain(error: unknown): string {
  if (!error) return "asking…";
  const { code, detail, requestId } = problemOf(error);
  return [code, detail, requestId && `request ${requestId}`].filter(Boolean).join(" ");
}
