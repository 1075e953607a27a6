import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";

export function UsageRoom() {
  useCrumbs([{ label: "Usage" }]);
  return (
    <Page title="Usage">
      <EmptyState title="This room is being built" />
    </Page>
  );
}
