import { useMemo } from "react";
import { EmptyState } from "../../ui/empty-state.tsx";
import { isAlive, useSession } from "../session/use-session.ts";
import { StagedDatasets } from "./staged-datasets.tsx";
import { ThreeModes } from "./three-modes.tsx";

export function SessionDatasets() {
  const session = useSession();
  const sessions = useMemo(() => [session.info], [session]);
  return (
    <div className="px-4 pt-3 pb-4 sm:px-6">
      {session.info.datasets.access === "NONE" ? (
        <ThreeModes title="This session was made without datasets" />
      ) : !isAlive(session) ? (
        <EmptyState title="The session has ended">Its datasets ended with it.</EmptyState>
      ) : (
        <StagedDatasets sessions={sessions} loading={false} nothing="This session has no datasets yet" />
      )}
    </div>
  );
}
