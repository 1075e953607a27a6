import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";

export function ArtifactsRoom() {
  useCrumbs([{ label: "Artifacts" }]);
  return (
    <Page title="Artifacts">
      <EmptyState title="This room is being built" />
    </Page>
  );
}
