import { useQuery } from "@tanstack/react-query";
import { Package } from "lucide-react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { formatBytes } from "../../ui/bytes.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Meter } from "../../ui/meter.tsx";
import { Page } from "../../ui/page.tsx";
import { ArtifactBrowser } from "./artifact-browser.tsx";

export function ArtifactsRoom() {
  useCrumbs([{ label: "Artifacts" }]);
  return (
    <Page title="Artifacts">
      <ArtifactBrowser
        listing={sandbar.artifacts}
        queryKey={keys.artifacts}
        withSession
        quota={<Quota />}
        empty={
          <EmptyState icon={<Package />} title="No artifacts yet">
            <p>What code writes to its artifact folder is kept here, also after the session is gone.</p>
            <CodeSnippet className="mt-4 text-left" code={ARTIFACT_EXAMPLE} />
          </EmptyState>
        }
      />
    </Page>
  );
}

export const ARTIFACT_EXAMPLE = `open("/session/artifacts/report.csv", "w").write("a,b\\n1,2\\n")`;

function Quota() {
  const { data } = useQuery({ queryKey: keys.usage, queryFn: () => sandbar.usage() });
  if (!data) return null;
  const { bytes, count } = data.artifacts;
  const { artifact_bytes } = data.limits;
  return (
    <div className="flex items-center gap-3 text-xs text-muted">
      <span className="tabular-nums">
        {count.toLocaleString()} kept, {formatBytes(bytes)}
        {artifact_bytes !== null && ` of ${formatBytes(artifact_bytes)}`}
      </span>
      {artifact_bytes !== null && (
        <Meter value={bytes} max={artifact_bytes} label="Bytes of artifacts" className="w-24" />
      )}
    </div>
  );
}
