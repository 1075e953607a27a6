import { useQuery } from "@tanstack/react-query";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useLiveInterval } from "../../api/live.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Page } from "../../ui/page.tsx";
import { Sources } from "./sources.tsx";
import { StagedDatasets } from "./staged-datasets.tsx";

const ALIVE = ["ready", "busy"];

export function DatasetsRoom() {
  useCrumbs([{ label: "Datasets" }]);
  const me = useMe();
  const interval = useLiveInterval();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: [...keys.sessions, "with-datasets"],
    queryFn: () => sandbar.sessions({ status: "ready" }).all(),
    refetchInterval: interval || 15_000,
    enabled: me.scopes.includes("agent"),
  });
  const sessions = (data ?? []).filter(
    ({ datasets, status }) => datasets.access !== "NONE" && ALIVE.includes(status),
  );
  return (
    <Page title="Datasets">
      <div className="-mx-4 -mb-4 min-h-0 flex-1 space-y-8 overflow-y-auto px-4 pb-4 sm:-mx-6 sm:px-6">
        {error && !data ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <StagedDatasets
            sessions={sessions}
            loading={isPending && me.scopes.includes("agent")}
            withSession
            heading={<h2 className="font-semibold">In sessions</h2>}
            nothing={sessions.length > 0 ? "Nothing is staged yet" : "No session has datasets"}
          />
        )}
        {mayOperate(me) && <Sources />}
      </div>
    </Page>
  );
}
