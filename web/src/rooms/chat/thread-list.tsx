import type { ThreadRecord, ThreadStatus } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Ellipsis, Pencil, Search, SquarePen, Trash2 } from "lucide-react";
import { useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input } from "../../ui/input.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { threadsQuery, titleOf } from "./threads-query.ts";

const PAGE = 60;

/** Every chat of the tenant, whoever began it and from where. */
export function ThreadList({ current, onGo }: { current: string | undefined; onGo: () => void }) {
  const { data, error, refetch } = useQuery(threadsQuery);
  const [search, setSearch] = useState("");
  const [shown, setShown] = useState(PAGE);
  const [removing, setRemoving] = useState<ThreadRecord | null>(null);
  const navigate = useNavigate();
  const wanted = search.trim().toLowerCase();
  const found = (data ?? []).filter((thread) => titleOf(thread).toLowerCase().includes(wanted));
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex items-center gap-2 p-3 pb-2">
        <Input
          icon={<Search />}
          aria-label="Search chats"
          placeholder="Search chats"
          className="flex-1"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <Link
          to="/chat"
          onClick={onGo}
          aria-label="New chat"
          title="New chat"
          className="inline-flex size-8 shrink-0 items-center justify-center rounded-md border border-line-strong bg-surface text-muted hover:bg-hover hover:text-text"
        >
          <SquarePen className="size-4" aria-hidden />
        </Link>
      </div>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} className="mx-3" />}
      <ul className="min-h-0 flex-1 space-y-px overflow-y-auto px-2 pb-3" aria-label="Chats">
        {!data &&
          !error &&
          ["w-4/5", "w-3/5", "w-2/3"].map((width) => (
            <li key={width} className="p-2">
              <Skeleton className={`h-4 ${width}`} />
            </li>
          ))}
        {found.slice(0, shown).map((thread) => (
          <Row
            key={thread.thread_id}
            thread={thread}
            isCurrent={thread.thread_id === current}
            onGo={onGo}
            onRemove={() => setRemoving(thread)}
          />
        ))}
        {found.length > shown && (
          <li className="p-2">
            <button
              type="button"
              className="text-xs text-accent hover:underline"
              onClick={() => setShown(shown + PAGE)}
            >
              Show more
            </button>
          </li>
        )}
        {data && found.length === 0 && (
          <li className="px-2 py-6 text-center text-xs text-muted">
            {wanted ? "No chat is called so." : "Chats are listed here."}
          </li>
        )}
      </ul>
      <ConfirmDialog
        open={removing !== null}
        onOpenChange={(open) => !open && setRemoving(null)}
        title={`Delete “${removing ? titleOf(removing) : ""}”?`}
        action="Delete chat"
        onConfirm={async () => {
          const id = removing!.thread_id;
          await sandbar.threads.delete(id);
          queryClient.setQueryData<ThreadRecord[]>(keys.threads, (list) =>
            list?.filter(({ thread_id }) => thread_id !== id),
          );
          if (id === current) await navigate({ to: "/chat" });
        }}
      >
        What was said is forgotten and its sandbox stops. Artifacts stay.
      </ConfirmDialog>
    </div>
  );
}

const STATES: Partial<Record<ThreadStatus, { dot: string; words: string }>> = {
  busy: { dot: "running", words: "running" },
  interrupted: { dot: "timeout", words: "waits for you" },
  error: { dot: "error", words: "failed" },
};

function Row({
  thread,
  isCurrent,
  onGo,
  onRemove,
}: {
  thread: ThreadRecord;
  isCurrent: boolean;
  onGo: () => void;
  onRemove: () => void;
}) {
  const [title, setTitle] = useState<string | null>(null);
  const state = STATES[thread.status];
  const rename = () => {
    const next = title?.trim();
    setTitle(null);
    if (!next || next === titleOf(thread)) return;
    sandbar.threads.update(thread.thread_id, { title: next }).then(
      () => void queryClient.invalidateQueries({ queryKey: keys.threads }),
      (error: unknown) => toastError(error, "Rename"),
    );
  };
  if (title !== null)
    return (
      <li className="p-1">
        <Input
          autoFocus
          aria-label="Title of the chat"
          value={title}
          onFocus={({ target }) => target.select()}
          onChange={({ target }) => setTitle(target.value)}
          onBlur={rename}
          onKeyDown={({ key }) => {
            if (key === "Enter") rename();
            if (key === "Escape") setTitle(null);
          }}
        />
      </li>
    );
  return (
    <li className="group/row relative">
      <Link
        to="/chat/$threadId"
        params={{ threadId: thread.thread_id }}
        onClick={onGo}
        aria-current={isCurrent ? "page" : undefined}
        className="block rounded-md px-2 py-1.5 hover:bg-hover aria-[current]:bg-hover"
      >
        <span className="block truncate pr-5">{titleOf(thread)}</span>
        <span className="flex h-4 items-center gap-2 text-2xs text-faint">
          {state ? <StateDot state={state.dot} label={state.words} /> : <Time at={thread.updated_at} />}
        </span>
      </Link>
      <span className="absolute top-1 right-1 opacity-0 group-focus-within/row:opacity-100 group-hover/row:opacity-100 pointer-coarse:opacity-100 has-[[data-state=open]]:opacity-100">
        <Menu
          trigger={
            <IconButton label={`More about ${titleOf(thread)}`} icon={<Ellipsis />} className="size-6" />
          }
          items={[
            { label: "Rename", icon: <Pencil />, onSelect: () => setTitle(titleOf(thread)) },
            { label: "Delete", icon: <Trash2 />, danger: true, onSelect: onRemove },
          ]}
        />
      </span>
    </li>
  );
}
