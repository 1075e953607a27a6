import { Camera } from "lucide-react";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { useSessionNames } from "../../api/session-names.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";
import { SnapshotList } from "./snapshot-list.tsx";

const EXAMPLE = `snapshot = session.snapshot("before-training")
again = client.session(snapshot=snapshot)`;

/** The tenant's, also those of sessions that are long gone. */
export function SnapshotsRoom() {
  useCrumbs([{ label: "Snapshots" }]);
  const [open, setOpen] = useState<string | null>(null);
  const sessionName = useSessionNames(true);
  return (
    <Page title="Snapshots">
      <SnapshotList
        listing={() => sandbar.snapshots.list()}
        of="all"
        withSession
        sessionName={sessionName}
        open={open}
        onOpen={setOpen}
        empty={
          <EmptyState icon={<Camera />} title="No snapshots yet">
            <p>
              A snapshot keeps a session's files and variables after it has ended, for others to begin with.
              Take one in a session's <em>Snapshots</em> tab, or in code:
            </p>
            <CodeSnippet className="mt-4 text-left" code={EXAMPLE} />
          </EmptyState>
        }
      />
    </Page>
  );
}
