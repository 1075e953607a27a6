import { Link } from "@tanstack/react-router";
import { Compass } from "lucide-react";
import { EmptyState } from "../ui/empty-state.tsx";

export function Missing() {
  return (
    <main>
      <EmptyState
        icon={<Compass />}
        title="There is nothing at this address"
        action={
          <Link to="/sessions" className="text-accent underline-offset-2 hover:underline">
            To the sessions
          </Link>
        }
      />
    </main>
  );
}
