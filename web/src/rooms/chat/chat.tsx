import { useQuery } from "@tanstack/react-query";
import { useNavigate, useParams } from "@tanstack/react-router";
import { List, SquarePen } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { useState } from "react";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { NewChat } from "./new-chat.tsx";
import { SettingsDialog } from "./settings-dialog.tsx";
import { ThreadList } from "./thread-list.tsx";
import { ThreadPage } from "./thread-page.tsx";
import { threadsQuery, titleOf } from "./threads-query.ts";

/** Talk with the agent: threads at the side, one of them open. */
export function ChatRoom() {
  const { threadId } = useParams({ strict: false });
  const navigate = useNavigate();
  const [settings, setSettings] = useState(false);
  const [drawer, setDrawer] = useState(false);
  const { data: threads = [] } = useQuery(threadsQuery);
  const go = (id: string | undefined) =>
    void navigate(id ? { to: "/chat/$threadId", params: { threadId: id } } : { to: "/chat" });
  const beside = (step: number) => {
    const at = threads.findIndex(({ thread_id }) => thread_id === threadId);
    go(threads[Math.min(threads.length - 1, Math.max(0, at + step))]?.thread_id);
  };
  useCommands([
    {
      id: "chat-new",
      title: "New chat",
      group: "Chat",
      icon: <SquarePen />,
      shortcut: "c",
      run: () => go(undefined),
    },
    { id: "chat-next", title: "Next chat", group: "Chat", shortcut: "j", run: () => beside(1) },
    { id: "chat-previous", title: "Previous chat", group: "Chat", shortcut: "k", run: () => beside(-1) },
    ...threads.slice(0, 30).map((thread) => ({
      id: `chat ${thread.thread_id}`,
      title: titleOf(thread),
      group: "Chats",
      run: () => go(thread.thread_id),
    })),
  ]);
  const list = <ThreadList current={threadId} onGo={() => setDrawer(false)} />;
  const onSettings = () => setSettings(true);
  return (
    <div className="flex h-full min-h-0">
      <aside aria-label="Chats" className="hidden w-60 shrink-0 border-r lg:block">
        {list}
      </aside>
      <div className="flex min-w-0 flex-1 flex-col">
        <div className="flex h-10 shrink-0 items-center gap-2 border-b px-4 sm:px-6 lg:hidden">
          <Button size="sm" icon={<List />} onClick={() => setDrawer(true)}>
            Chats
          </Button>
          <span className="flex-1" />
          <Button size="sm" icon={<SquarePen />} onClick={() => go(undefined)}>
            New
          </Button>
        </div>
        {threadId ? (
          <ThreadPage key={threadId} id={threadId} onSettings={onSettings} />
        ) : (
          <NewChat onSettings={onSettings} />
        )}
      </div>
      <Radix.Root open={drawer} onOpenChange={setDrawer}>
        <Radix.Portal>
          <Radix.Overlay className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
          <Radix.Content
            aria-describedby={undefined}
            className="fixed inset-y-0 left-0 z-40 w-72 animate-sheet bg-bg shadow-pop outline-none"
          >
            <Radix.Title className="sr-only">Chats</Radix.Title>
            {list}
          </Radix.Content>
        </Radix.Portal>
      </Radix.Root>
      <SettingsDialog open={settings} onOpenChange={setSettings} />
    </div>
  );
}
