import { SandbarError, type Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowDown, MessagesSquare, Settings2, SquareTerminal } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useStore } from "../../api/store.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useBottom } from "../notebook/use-bottom.ts";
import { questionWith, uploadAll } from "./attachments.ts";
import { ChatThread } from "./chat-thread.ts";
import { Composer, type ComposerHandle } from "./composer.tsx";
import { Conversation } from "./conversation.tsx";
import { DropZone } from "./drop-zone.tsx";
import { ModelBar } from "./model-bar.tsx";
import { isRunning, openInterrupt } from "./thread-view.ts";

/** A thread: what was said in it, and where one goes on. */
export function ThreadPage({ id, onSettings }: { id: string; onSettings: () => void }) {
  const thread = useMemo(() => new ChatThread(id), [id]);
  useEffect(() => thread.open(), [thread]);
  const view = useStore(thread.view);
  const composer = useRef<ComposerHandle>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const near = useBottom(scroller);
  const running = isRunning(view);
  const interrupt = openInterrupt(view);
  const title = view.thread?.metadata.title ?? (view.state === "missing" ? "Not here" : "Chat");
  useCrumbs([{ label: "Chat", to: "/chat" }, { label: title }]);
  const session = useSandbox(id, running);
  useListFreshness(running, view.state);

  const stop = () => void thread.stop().catch((error: unknown) => toastError(error, "Stop"));
  useCommands([
    {
      id: "chat-write",
      title: "Write a question",
      group: "Chat",
      shortcut: "/",
      run: () => composer.current?.focus(),
    },
    { id: "chat-settings", title: "Model and settings", group: "Chat", icon: <Settings2 />, run: onSettings },
    ...(running
      ? [{ id: "chat-stop", title: "Stop the answer", group: "Chat", shortcut: "Escape", run: stop }]
      : []),
  ]);

  if (view.state === "missing")
    return (
      <EmptyState
        icon={<MessagesSquare />}
        title="There is no such chat"
        action={
          <Link to="/chat" className="text-accent underline-offset-2 hover:underline">
            Start a new one
          </Link>
        }
      >
        It was deleted, or it never was.
      </EmptyState>
    );
  if (view.state === "failed") return <ErrorNote error={view.failure} className="m-6" />;
  return (
    <DropZone onDrop={(items) => composer.current?.add(items)}>
      <header className="flex h-10 shrink-0 items-center gap-2 border-b px-4 sm:px-6">
        <h1 className="min-w-0 flex-1 truncate font-medium" title={title}>
          {title}
        </h1>
        <SandboxLink session={session} />
      </header>
      <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto max-w-3xl px-4 py-5 sm:px-6">
          {view.state === "loading" ? (
            <Loading />
          ) : (
            <Conversation
              thread={thread}
              view={view}
              runtime={session?.info.runtime ?? "python"}
              list={list}
            />
          )}
        </div>
      </div>
      <div className="mx-auto w-full max-w-3xl shrink-0 px-4 pb-4 sm:px-6">
        <ToTheEnd scroller={scroller} near={near} />
        <Composer
          key={id}
          draftKey={id}
          handle={composer}
          running={running}
          onStop={stop}
          onApprove={
            interrupt?.value?.actionRequests
              ? () =>
                  void thread
                    .decide(interrupt.value!.actionRequests!.map(() => ({ type: "approve" })))
                    .catch((error: unknown) => toastError(error, "Approve"))
              : undefined
          }
          onEditLast={() =>
            [...(list.current?.querySelectorAll<HTMLElement>("[aria-label='Edit the question']") ?? [])]
              .at(-1)
              ?.click()
          }
          onSend={async ({ text, attachments, signal, onProgress }) => {
            const paths = await uploadAll(id, attachments, { signal, onProgress });
            near.current = true;
            await thread.ask(await questionWith(text, attachments, paths));
          }}
          footer={<ModelBar onSettings={onSettings} />}
        />
      </div>
    </DropZone>
  );
}

/** The sandbox of the thread, while it is there. */
function useSandbox(id: string, running: boolean): Session | null {
  const { data } = useQuery({
    queryKey: keys.threadSession(id),
    queryFn: () => sandbar.findSession(id),
    refetchInterval: running ? 3_000 : 30_000,
    structuralSharing: false,
    // Who may chat may not be who may look into sessions.
    retry: (count, error) => count < 2 && !(error instanceof SandbarError && error.status === 403),
  });
  useEffect(() => {
    if (!running) void queryClient.invalidateQueries({ queryKey: keys.threadSession(id) });
  }, [running, id]);
  return data ?? null;
}

/** The list knows late what this page knows now. */
function useListFreshness(running: boolean, state: string): void {
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: keys.threads, exact: true });
  }, [running, state]);
}

function SandboxLink({ session }: { session: Session | null }) {
  if (!session)
    return (
      <span className="text-xs text-faint" title="It is made when code runs or files come">
        No sandbox yet
      </span>
    );
  return (
    <Link
      to="/sessions/$id"
      params={{ id: session.id }}
      className="inline-flex h-7 items-center gap-1.5 rounded-md px-2 text-xs font-medium text-muted hover:bg-hover hover:text-text [&_svg]:size-3.5"
    >
      <SquareTerminal aria-hidden /> Open sandbox
    </Link>
  );
}

/** Shown when what is newest is out of sight. */
function ToTheEnd({
  scroller,
  near,
}: {
  scroller: React.RefObject<HTMLDivElement | null>;
  near: React.RefObject<boolean>;
}) {
  const [away, setAway] = useState(false);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => setAway(!near.current);
    element.addEventListener("scroll", look, { passive: true });
    return () => element.removeEventListener("scroll", look);
  }, [scroller, near]);
  if (!away) return null;
  return (
    <div className="relative">
      <button
        type="button"
        className="absolute bottom-2 left-1/2 inline-flex h-7 -translate-x-1/2 items-center gap-1.5 rounded-full bg-raised px-3 text-xs shadow-pop hover:bg-hover [&_svg]:size-3.5"
        onClick={() => {
          near.current = true;
          scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
        }}
      >
        <ArrowDown aria-hidden /> To the newest
      </button>
    </div>
  );
}

function Loading() {
  return (
    <div className="space-y-4" aria-hidden>
      <Skeleton className="ml-auto h-9 w-1/2 rounded-xl" />
      <Skeleton className="h-4 w-5/6" />
      <Skeleton className="h-4 w-2/3" />
      <Skeleton className="h-24 w-full rounded-lg" />
    </div>
  );
}
