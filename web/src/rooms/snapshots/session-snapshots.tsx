import { Camera, GitFork } from "lucide-react";
import { useState } from "react";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { isAlive, useSession } from "../session/use-session.ts";
import { ForkSession } from "./fork-session.tsx";
import { SnapshotList } from "./snapshot-list.tsx";
import { TakeSnapshot } from "./take-snapshot.tsx";

/** What this session was, to begin with again; and others that begin as it is now. */
export function SessionSnapshots() {
  const session = useSession();
  const alive = isAlive(session);
  const [doing, setDoing] = useState<"take" | "fork" | null>(null);
  const [open, setOpen] = useState<string | null>(null);
  useCommands(
    alive
      ? [
          {
            id: "snapshot.take",
            title: "Take a snapshot",
            group: "Snapshots",
            icon: <Camera />,
            shortcut: "c",
            run: () => setDoing("take"),
          },
          {
            id: "session.fork",
            title: "Fork this session",
            group: "Snapshots",
            icon: <GitFork />,
            run: () => setDoing("fork"),
          },
        ]
      : [],
  );
  const take = (
    <Button tone="primary" icon={<Camera />} onClick={() => setDoing("take")}>
      Take a snapshot
    </Button>
  );
  const fork = (
    <Button icon={<GitFork />} onClick={() => setDoing("fork")}>
      Fork…
    </Button>
  );
  return (
    <div className="flex h-full min-h-0 flex-col px-4 pt-3 pb-4 sm:px-6">
      {alive && (
        <div className="mb-3 flex flex-wrap items-center justify-end gap-2">
          {fork}
          {take}
        </div>
      )}
      <SnapshotList
        listing={() => session.snapshots()}
        of={session.id}
        sessionName={(id) => (id === session.id ? session.key : undefined)}
        open={open}
        onOpen={setOpen}
        empty={
          <EmptyState icon={<Camera />} title={alive ? "No snapshot yet" : "No snapshot was taken"}>
            {alive
              ? "A snapshot keeps the files of /session and the variables of every context. Other sessions can begin with it, also when this one is gone. A fork does so at once."
              : "What this session had ended with it. What was to stay is among the artifacts."}
          </EmptyState>
        }
      />
      {doing === "take" && (
        <TakeSnapshot
          session={session}
          onClose={() => setDoing(null)}
          onTaken={(id) => {
            setDoing(null);
            setOpen(id);
          }}
        />
      )}
      {doing === "fork" && <ForkSession session={session} onClose={() => setDoing(null)} />}
    </div>
  );
}
