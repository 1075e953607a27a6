import { Package } from "lucide-react";
import { keys } from "../../api/keys.ts";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { useSession } from "../session/use-session.ts";
import { ArtifactBrowser } from "./artifact-browser.tsx";
import { ARTIFACT_EXAMPLE } from "./artifacts.tsx";

export function SessionArtifacts() {
  const session = useSession();
  return (
    <div className="flex h-full min-h-0 flex-col px-4 pt-3 pb-4 sm:px-6">
      <ArtifactBrowser
        listing={session.artifacts}
        ownName={session.key}
        queryKey={keys.sessionArtifacts(session.id)}
        empty={
          <EmptyState icon={<Package />} title="This session has kept nothing yet">
            <p>What its code writes to the artifact folder is kept when the cell ends.</p>
            <CodeSnippet className="mt-4 text-left" code={ARTIFACT_EXAMPLE} />
          </EmptyState>
        }
      />
    </div>
  );
}
