import type { Secret } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, RefreshCw, Trash2, VenetianMask } from "lucide-react";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { NotForYou } from "../../shell/not-for-you.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { PutSecretDialog } from "./put-secret.tsx";

const EXAMPLE = `client.session(network={"secrets": [
    {"host": "api.example.com", "header": "Authorization", "secret": "api"},
]})`;

export function SecretsRoom() {
  useCrumbs([{ label: "Secrets" }]);
  return useMe().scopes.includes("agent") ? <SecretList /> : <NotForYou title="Secrets" scope="agent" />;
}

/** Values that requests of sessions get on their way, and that no code sees. */
function SecretList() {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.secrets,
    queryFn: () => sandbar.secrets.list(),
  });
  const [putting, setPutting] = useState<Secret | "new" | null>(null);
  const [removing, setRemoving] = useState<Secret | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const refresh = () => client.invalidateQueries({ queryKey: keys.secrets });
  useCommands([
    {
      id: "secret-store",
      title: "Store a secret",
      group: "Secrets",
      shortcut: "c",
      run: () => setPutting("new"),
    },
  ]);
  const columns: Column<Secret>[] = [
    {
      id: "name",
      header: "Name",
      width: "minmax(6rem, 1fr)",
      cell: ({ name }) => <code className="font-medium">{name}</code>,
    },
    {
      id: "hosts",
      header: "May be sent to",
      width: "minmax(8rem, 2fr)",
      cell: ({ hosts }) =>
        hosts.length === 0 ? (
          <span className="text-muted">any host that a session names</span>
        ) : (
          <span className="flex min-w-0 gap-1" title={hosts.join(", ")}>
            {hosts.map((host) => (
              <Badge key={host} className="min-w-0 shrink">
                <code className="truncate">{host}</code>
              </Badge>
            ))}
          </span>
        ),
    },
    {
      id: "changed",
      header: "Changed",
      width: "5.5rem",
      from: "sm",
      cell: ({ updated_at }) => <Time at={updated_at} />,
    },
    {
      id: "created",
      header: "Stored",
      width: "5.5rem",
      from: "lg",
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      id: "actions",
      header: <span className="sr-only">Actions</span>,
      width: "3.75rem",
      cell: (secret) => (
        <span className="flex gap-1">
          <IconButton
            label={`Replace ${secret.name}`}
            icon={<RefreshCw />}
            onClick={() => setPutting(secret)}
          />
          <IconButton
            label={`Remove ${secret.name}`}
            danger
            icon={<Trash2 />}
            onClick={() => setRemoving(secret)}
          />
        </span>
      ),
    },
  ];
  const store = (
    <Button tone="primary" icon={<Plus />} onClick={() => setPutting("new")}>
      Store a secret
    </Button>
  );
  return (
    <Page title="Secrets" actions={data && data.length > 0 && store}>
      <div ref={body} className="flex min-h-0 flex-1 flex-col">
        {error && !data ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <Table
            label="Secrets"
            className="max-h-full"
            width={width}
            rows={data ?? []}
            columns={columns}
            rowKey={({ name }) => name}
            loading={isPending}
            empty={
              <EmptyState icon={<VenetianMask />} title="No secrets yet" action={store}>
                <p>
                  A stored secret is added to requests on their way out of a session, by its host. The code
                  that makes them never sees it.
                </p>
                <CodeSnippet className="mt-4 text-left" code={EXAMPLE} />
              </EmptyState>
            }
          />
        )}
      </div>
      {putting && (
        <PutSecretDialog
          known={putting === "new" ? null : putting}
          taken={data?.map(({ name }) => name) ?? []}
          onClose={() => setPutting(null)}
          onPut={(name) => {
            setPutting(null);
            toast("Stored", name);
            void refresh();
          }}
        />
      )}
      <ConfirmDialog
        open={removing !== null}
        onOpenChange={(next) => !next && setRemoving(null)}
        title={`Remove the secret ${removing?.name}?`}
        action="Remove secret"
        onConfirm={async () => {
          await sandbar.secrets.remove(removing!.name);
          toast("Removed", removing!.name);
          await refresh();
        }}
      >
        <p>Sessions that name it reach its host no more, within 30 seconds.</p>
      </ConfirmDialog>
    </Page>
  );
}
