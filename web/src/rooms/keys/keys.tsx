import { useCrumbs } from "../../shell/crumbs.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { Page } from "../../ui/page.tsx";

export function KeysRoom() {
  useCrumbs([{ label: "Keys" }]);
  return (
    <Page title="Keys">
      <EmptyState title="This room is being built" />
    </Page>
  );
}
