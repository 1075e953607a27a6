import type { ProcessRecord } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Cog, Play } from "lucide-react";
import { useState } from "react";
import { keys } from "../../api/keys.ts";
import { commandWords } from "../../api/shell-command.ts";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { Time } from "../../ui/time.tsx";
import { isAble, isAlive, useSession } from "../session/use-session.ts";
import { stateOf, stateWords } from "./exit-words.ts";
import { PortList } from "./port-list.tsx";
import { PortView } from "./port-view.tsx";
import { ProcessView } from "./process-view.tsx";
import { StartProcess } from "./start-process.tsx";

const OFTEN_MS = 3000;

/** Commands that outlive the request that started them, and the ports that they serve. */
export function ProcessesRoom() {
  const session = useSession();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { process: chosen, port } = useSearch({ from: "/inside/sessions/$id/processes" });
  const [starting, setStarting] = useState(false);
  const able = isAble(session, "processes");
  const alive = able && isAlive(session);
  const { data, error, refetch } = useQuery({
    queryKey: keys.processes(session.id),
    queryFn: async () => (await session.processes.list()).map(({ info }) => info),
    enabled: alive,
    refetchInterval: OFTEN_MS,
  });
  const ports = useQuery({
    queryKey: keys.ports(session.id),
    queryFn: () => session.ports(),
    enabled: alive,
    refetchInterval: OFTEN_MS,
  });
  const show = (search: { process?: string; port?: number }) =>
    void navigate({ to: "/sessions/$id/processes", params: { id: session.id }, search, replace: true });
  const newest = data && [...data].reverse();
  const current = data?.find(({ id }) => id === chosen);

  useCommands(
    alive
      ? [
          {
            id: "processes.start",
            title: "Start a process",
            group: "Processes",
            icon: <Play />,
            run: () => setStarting(true),
          },
        ]
      : [],
  );

  if (!able)
    return (
      <EmptyState icon={<Cog />} title="Not in WebAssembly">
        This session's engine has no processes. One that is a container has.
      </EmptyState>
    );
  if (!alive)
    return (
      <EmptyState icon={<Cog />} title="The session has ended">
        Its processes ended with it.
      </EmptyState>
    );
  const looking = port !== undefined || current !== undefined;
  return (
    <div className="flex h-full min-h-0">
      <section
        aria-label="Processes and ports"
        className={clsx(
          "w-full shrink-0 flex-col border-r md:flex md:w-72 lg:w-80",
          looking ? "hidden" : "flex",
        )}
      >
        <div className="flex h-11 shrink-0 items-center justify-between border-b px-3">
          <h2 className="text-xs font-medium text-muted">Processes</h2>
          <Button size="sm" icon={<Play />} onClick={() => setStarting(true)}>
            Start
          </Button>
        </div>
        <div className="min-h-0 flex-1 overflow-y-auto p-1">
          {error && !data ? (
            <ErrorNote error={error} onRetry={() => void refetch()} className="m-1" />
          ) : !newest ? (
            <Skeleton className="m-2 h-24" />
          ) : newest.length === 0 ? (
            <p className="p-3 text-sm text-muted">
              None yet. Start a server or another long-running command here; agents start them with{" "}
              <code>session.processes.start()</code>. Terminals are processes too.
            </p>
          ) : (
            <ul>
              {newest.map((info) => (
                <li key={info.id}>
                  <Row info={info} current={info.id === chosen} onChoose={() => show({ process: info.id })} />
                </li>
              ))}
            </ul>
          )}
        </div>
        <PortList
          ports={ports.data}
          current={port}
          onOpen={(opened) => show({ process: chosen, port: opened })}
        />
      </section>
      <section
        aria-label={port === undefined ? "Process" : "Port"}
        className={clsx("min-w-0 flex-1 flex-col md:flex", looking ? "flex" : "hidden")}
      >
        {port !== undefined ? (
          <PortView
            key={port}
            session={session}
            port={port}
            onClose={() => show(chosen ? { process: chosen } : {})}
          />
        ) : current ? (
          <ProcessView
            session={session}
            info={current}
            onChanged={() => void refetch()}
            onRemoved={() => {
              client.setQueryData<ProcessRecord[]>(keys.processes(session.id), (old) =>
                old?.filter(({ id }) => id !== current.id),
              );
              show({});
            }}
            ports={ports.data?.filter(({ process_id }) => process_id === current.id) ?? []}
            onPort={(found) => show({ process: current.id, port: found })}
            onBack={() => show({})}
          />
        ) : (
          <EmptyState
            icon={<Cog />}
            title={chosen && data ? "It is not there (any more)" : "Choose a process"}
          >
            Its output comes live, it takes input and signals, and it runs on when you leave this page.
          </EmptyState>
        )}
      </section>
      {starting && (
        <StartProcess
          session={session}
          onClose={() => setStarting(false)}
          onStarted={({ info }) => {
            client.setQueryData<ProcessRecord[]>(keys.processes(session.id), (old = []) => [...old, info]);
            show({ process: info.id });
          }}
        />
      )}
    </div>
  );
}

function Row({ info, current, onChoose }: { info: ProcessRecord; current: boolean; onChoose: () => void }) {
  return (
    <button
      type="button"
      aria-current={current || undefined}
      onClick={onChoose}
      className={clsx(
        "block w-full rounded-md px-2.5 py-1.5 text-left",
        current ? "bg-hover" : "hover:bg-hover/60",
      )}
    >
      <code className="block truncate text-xs">{commandWords(info.command)}</code>
      <span className="mt-0.5 flex items-center gap-2 text-xs text-muted">
        <StateDot state={stateOf(info)} label={stateWords(info)} />
        <span className="text-faint tabular-nums">pid {info.pid}</span>
        {info.pty && <span className="text-faint">terminal</span>}
        <span className="ml-auto text-faint">
          <Time at={info.finished_at ?? info.started_at} style="age" />
        </span>
      </span>
    </button>
  );
}
