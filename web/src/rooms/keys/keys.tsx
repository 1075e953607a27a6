import type { ApiKey } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus, Search, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { mayAdminister, useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { NotForYou } from "../../shell/not-for-you.tsx";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { CreateKey } from "./create-key.tsx";

export function KeysRoom() {
  useCrumbs([{ label: "Keys" }]);
  return mayAdminister(useMe()) ? <KeyList /> : <NotForYou title="Keys" scope="admin" />;
}

function KeyList() {
  const me = useMe();
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.apiKeys,
    queryFn: () => sandbar.keys.list().all(),
  });
  const [search, setSearch] = useState("");
  const [creating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<ApiKey | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  useCommands([
    {
      id: "key-create",
      title: "Create an API key",
      group: "Keys",
      shortcut: "c",
      run: () => setCreating(true),
    },
  ]);
  const rows = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    return (data ?? []).filter(({ name, tenant, id }) =>
      `${name}\n${tenant}\n${id}`.toLowerCase().includes(wanted),
    );
  }, [data, search]);
  const refresh = () => client.invalidateQueries({ queryKey: keys.apiKeys });

  const columns: Column<ApiKey>[] = [
    {
      id: "name",
      header: "Name",
      width: "minmax(5rem, 2fr)",
      cell: ({ name, id }) => (
        <span className="flex min-w-0 items-center gap-2" title={id}>
          <span className="min-w-0 truncate font-medium">{name}</span>
          {id === me.key.id && <Badge tone="accent">yours</Badge>}
        </span>
      ),
    },
    {
      id: "tenant",
      header: "Tenant",
      width: "minmax(4rem, 1fr)",
      cell: ({ tenant }) => <code className="text-xs text-muted">{tenant}</code>,
    },
    {
      id: "scopes",
      header: "Scopes",
      width: "minmax(7rem, 1fr)",
      from: "sm",
      cell: ({ scopes }) => (
        <span className="flex gap-1">
          {scopes.map((scope) => (
            <Badge key={scope} tone={scope === "admin" ? "warn" : "neutral"}>
              {scope}
            </Badge>
          ))}
        </span>
      ),
    },
    {
      id: "used",
      header: "Last used",
      width: "6rem",
      from: "md",
      cell: ({ last_used_at }) =>
        last_used_at ? <Time at={last_used_at} /> : <span className="text-faint">never</span>,
    },
    {
      id: "created",
      header: "Created",
      width: "6rem",
      from: "lg",
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      id: "expires",
      header: "Expires",
      width: "4.5rem",
      cell: ({ expires_at }) => <Expiry at={expires_at} />,
    },
    {
      id: "revoke",
      header: <span className="sr-only">Revoke</span>,
      width: "1.75rem",
      cell: (key) => (
        <IconButton label={`Revoke ${key.name}`} danger icon={<Trash2 />} onClick={() => setRevoking(key)} />
      ),
    },
  ];

  return (
    <Page
      title="Keys"
      filters={
        <Input
          icon={<Search />}
          aria-label="Search keys"
          placeholder="Search by name or tenant"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
          className="w-full sm:w-64"
        />
      }
      actions={
        <Button tone="primary" icon={<Plus />} onClick={() => setCreating(true)}>
          Create key
        </Button>
      }
    >
      <div ref={body} className="flex min-h-0 flex-1 flex-col">
        {error ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <Table
            label="API keys"
            className="max-h-full"
            width={width}
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            loading={isPending}
            empty={
              <EmptyState icon={<KeyRound />} title="Nothing matches">
                No key has this in its name or tenant.
              </EmptyState>
            }
          />
        )}
      </div>
      <CreateKey open={creating} onOpenChange={setCreating} onCreated={() => void refresh()} />
      <ConfirmDialog
        open={revoking !== null}
        onOpenChange={(next) => !next && setRevoking(null)}
        title={`Revoke ${revoking?.name ?? "the key"}?`}
        action="Revoke key"
        onConfirm={async () => {
          await sandbar.keys.remove(revoking!.id);
          toast("Revoked", revoking!.name);
          await refresh();
        }}
      >
        <p>
          It stops working everywhere within a minute, and what it has open ends: streams, terminals, browsers
          that signed in with it. Sessions go on.
        </p>
        {revoking?.id === me.key.id && (
          <p className="font-medium text-danger">
            This is the key you are signed in with: you will be signed out.
          </p>
        )}
      </ConfirmDialog>
    </Page>
  );
}

function Expiry({ at }: { at: string | null }) {
  if (!at) return <span className="text-faint">never</span>;
  if (Date.parse(at) <= Date.now()) return <Badge tone="danger">expired</Badge>;
  return <Time at={at} />;
}
