import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";

export function DatasetsRoom() {
  useCrumbs([{ label: "Datasets" }]);
  return (
    <Page title="Datasets">
      <EmptyState title="This room is being built" />
    </Page>
  );
}
