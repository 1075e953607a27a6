import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";

export function Sessions() {
  useCrumbs([{ label: "Sessions" }]);
  return (
    <Page title="Sessions">
      <EmptyState title="This room is being built" />
    </Page>
  );
}
