import type { ProcessRecord } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Plus, SquareTerminal, Trash2, X } from "lucide-react";
import { Tabs } from "radix-ui";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { keys } from "../../api/keys.ts";
import { SHELL } from "../../api/shell-command.ts";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Kbd } from "../../ui/kbd.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { toastError } from "../../ui/toast.tsx";
import { isAble, isAlive, useSession } from "../session/use-session.ts";
import { tabName } from "./tab-name.ts";

const TerminalView = lazy(() => import("./terminal-view.tsx"));

const OTHERS_START_MS = 10_000;

/** Every process of the session that has a terminal, each in a tab. They live on while nobody looks. */
export function TerminalRoom() {
  const session = useSession();
  const able = isAble(session, "terminals");
  const alive = able && isAlive(session);
  const client = useQueryClient();
  const navigate = useNavigate();
  const { process: chosen } = useSearch({ from: "/inside/sessions/$id/terminal" });
  const [visited, setVisited] = useState<ReadonlySet<string>>(new Set());
  const [titles, setTitles] = useState<Record<string, string>>({});
  const [closing, setClosing] = useState<ProcessRecord | null>(null);
  const [starting, setStarting] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  // A name once given stays, whatever is closed before it.
  const numbers = useRef(new Map<string, number>());

  const { data, error, refetch } = useQuery({
    queryKey: keys.processes(session.id),
    queryFn: async () => (await session.processes.list()).map(({ info }) => info),
    enabled: alive,
    refetchInterval: OTHERS_START_MS,
  });
  const terminals = (data ?? []).filter(({ pty }) => pty);
  // One that ended stays while somebody has it open.
  const tabs = terminals.filter(({ id, status }) => status === "running" || visited.has(id) || id === chosen);
  for (const { id } of tabs)
    if (!numbers.current.has(id)) numbers.current.set(id, Math.max(0, ...numbers.current.values()) + 1);
  const current = tabs.find(({ id }) => id === chosen) ?? tabs.at(-1);

  const choose = (id: string | undefined) =>
    void navigate({
      to: "/sessions/$id/terminal",
      params: { id: session.id },
      search: id ? { process: id } : {},
      replace: true,
    });
  useEffect(() => {
    if (current && !visited.has(current.id)) setVisited(new Set([...visited, current.id]));
  }, [current, visited]);

  const start = async () => {
    setStarting(true);
    try {
      const { info } = await session.processes.start(SHELL, { pty: { cols: 80, rows: 24 } });
      client.setQueryData<ProcessRecord[]>(keys.processes(session.id), (old = []) => [...old, info]);
      choose(info.id);
    } catch (failure) {
      toastError(failure, "New terminal");
    } finally {
      setStarting(false);
    }
  };
  /** Ends the process, if it runs, and forgets it. */
  const close = async ({ id }: ProcessRecord) => {
    await (await session.processes.get(id)).kill();
    client.setQueryData<ProcessRecord[]>(keys.processes(session.id), (old) =>
      old?.filter((each) => each.id !== id),
    );
    setVisited(new Set([...visited].filter((each) => each !== id)));
    if (id === current?.id) choose(tabs.filter((tab) => tab.id !== id).at(-1)?.id);
  };
  const askToClose = (process: ProcessRecord) => {
    if (process.status === "running") return setClosing(process);
    close(process).catch((failure) => toastError(failure, "Close"));
  };

  useCommands([
    ...(alive
      ? [
          {
            id: "terminal.new",
            title: "New terminal",
            group: "Terminal",
            icon: <Plus />,
            run: () => void start(),
          },
        ]
      : []),
    ...(current
      ? [
          {
            id: "terminal.close",
            title: "Close this terminal",
            group: "Terminal",
            icon: <X />,
            run: () => askToClose(current),
          },
        ]
      : []),
    ...KEYS_OF_A_TERMINAL,
  ]);

  if (!able)
    return (
      <EmptyState icon={<SquareTerminal />} title="Not in WebAssembly">
        This session's engine has no terminals. One that is a container has.
      </EmptyState>
    );
  if (!alive)
    return (
      <EmptyState icon={<SquareTerminal />} title="The session has ended">
        Its terminals ended with it.
      </EmptyState>
    );
  if (error && !data)
    return <ErrorNote error={error} onRetry={() => void refetch()} className="m-4 sm:mx-6" />;
  if (!data)
    return (
      <div className="space-y-2 p-4">
        <Skeleton className="h-6 w-48" />
        <Skeleton className="h-64" />
      </div>
    );
  if (!current)
    return (
      <EmptyState
        icon={<SquareTerminal />}
        title="No terminal is open"
        action={
          <Button tone="primary" icon={<Plus />} autoFocus busy={starting} onClick={() => void start()}>
            New terminal
          </Button>
        }
      >
        A terminal is a shell in this session, in <code>/session</code>. It runs on when you leave this page,
        and is here when you come back.
      </EmptyState>
    );
  return (
    <Tabs.Root value={current.id} onValueChange={choose} className="flex h-full min-h-0 flex-col">
      <div className="flex h-9 shrink-0 items-stretch border-b bg-bg pr-2 pl-1 sm:pl-3">
        <Tabs.List ref={list} aria-label="Terminals" className="flex min-w-0 overflow-x-auto">
          {tabs.map((process) => {
            const name = tabName(process, numbers.current.get(process.id)!, titles[process.id]);
            return (
              <Tabs.Trigger
                key={process.id}
                value={process.id}
                title={process.command}
                onKeyDown={(event) => event.key === "Delete" && askToClose(process)}
                className={clsx(
                  "flex max-w-56 shrink-0 items-center gap-2 border-b-2 pr-1.5 pl-3 -outline-offset-2",
                  process.id === current.id
                    ? "border-accent text-text"
                    : "border-transparent text-muted hover:text-text",
                )}
              >
                <span
                  aria-hidden
                  className={clsx(
                    "size-1.5 shrink-0 rounded-full",
                    process.status === "running" ? "bg-accent" : "bg-line-strong",
                  )}
                />
                <span className="truncate">{name}</span>
                {process.status === "exited" && <span className="text-xs text-faint">ended</span>}
                {/* For the pointer; keys have Delete, and the button at the end of the row. */}
                <span
                  aria-hidden
                  data-close={name}
                  onClick={(event) => {
                    event.stopPropagation();
                    askToClose(process);
                  }}
                  className="inline-flex size-5 shrink-0 items-center justify-center rounded hover:bg-hover [&_svg]:size-3.5"
                >
                  <X />
                </span>
              </Tabs.Trigger>
            );
          })}
        </Tabs.List>
        <IconButton
          label="New terminal"
          icon={<Plus />}
          className="my-auto ml-1"
          disabled={starting}
          onClick={() => void start()}
        />
        <span className="ml-auto flex shrink-0 items-center gap-3 pl-2">
          <span className="hidden items-center gap-1.5 text-xs text-faint lg:flex">
            Find <Kbd keys="Mod+F" />
          </span>
          <IconButton
            label={current.status === "running" ? "End this terminal" : "Close this terminal"}
            icon={<Trash2 />}
            danger
            onClick={() => askToClose(current)}
          />
        </span>
      </div>
      {tabs.map((process) => (
        <Tabs.Content
          key={process.id}
          value={process.id}
          forceMount
          tabIndex={-1}
          className="min-h-0 flex-1 outline-none data-[state=inactive]:hidden"
        >
          {visited.has(process.id) && (
            <Suspense fallback={<Skeleton className="m-3 h-40" />}>
              <TerminalView
                session={session}
                process={process.id}
                shown={process.id === current.id}
                onExit={() => void refetch()}
                onTitle={(title) => setTitles((old) => ({ ...old, [process.id]: title }))}
                onLeave={() => list.current?.querySelector<HTMLElement>("[data-state=active]")?.focus()}
                onClose={() => askToClose(process)}
              />
            </Suspense>
          )}
        </Tabs.Content>
      ))}
      <ConfirmDialog
        open={closing !== null}
        onOpenChange={(open) => !open && setClosing(null)}
        title="End this terminal?"
        action="End terminal"
        onConfirm={() => close(closing!)}
      >
        Its shell and everything that runs in it is killed. To keep it, just leave the page.
      </ConfirmDialog>
    </Tabs.Root>
  );
}

const shown = (id: string, title: string, shortcut: string) => ({
  id,
  title,
  shortcut,
  group: "Terminal",
  handledElsewhere: true,
  run: () => {},
});

const KEYS_OF_A_TERMINAL = [
  shown("terminal.find", "Find (with Shift inside full-screen programs)", "Mod+F"),
  shown("terminal.copy", "Copy the selection", "Mod+Shift+C"),
  shown("terminal.leave", "Leave the terminal, to its tab", "Mod+Shift+ArrowUp"),
];
