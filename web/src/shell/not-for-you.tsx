import type { Scope } from "@sandbar/shared";
import { Lock } from "lucide-react";
import { useMe } from "../api/me.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { Page } from "../ui/page.tsx";

/** A room whose calls the server would refuse (403): says why, and who can help. */
export function NotForYou({ title, scope }: { title: string; scope: Scope }) {
  const { key, scopes } = useMe();
  return (
    <Page title={title}>
      <EmptyState icon={<Lock />} title={`${title} are for keys with the scope ${scope}`}>
        <p>
          You are signed in with the key <span className="font-medium text-text">{key.name}</span>, which has{" "}
          {scopes.length === 1 ? "the scope" : "the scopes"} {scopes.join(", ")}.
        </p>
        <p className="mt-2">Who looks after this deployment can make you another key, or do it for you.</p>
      </EmptyState>
    </Page>
  );
}
