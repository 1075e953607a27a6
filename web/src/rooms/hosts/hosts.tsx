import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";

export function HostsRoom() {
  useCrumbs([{ label: "Hosts" }]);
  return (
    <Page title="Hosts">
      <EmptyState title="This room is being built" />
    </Page>
  );
}
