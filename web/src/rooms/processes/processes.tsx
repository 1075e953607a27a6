import { EmptyState } from "../../ui/empty-state.tsx";
import { useSession } from "../session/use-session.ts";

export function ProcessesRoom() {
  const session = useSession();
  return <EmptyState title={`This room of ${session.id} is being built`} />;
}
