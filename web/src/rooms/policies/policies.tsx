import type { TenantPolicy } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Scale, Trash2 } from "lucide-react";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { NotForYou } from "../../shell/not-for-you.tsx";
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
import { PolicyDialog } from "./policy-dialog.tsx";
import { ALL_TENANTS, inWords } from "./policy-form.ts";

const EXAMPLE = `sandbar policy set '*' allow.egress=no shares.sessions=20
sandbar policy set acme allow.egress=yes`;

export function PoliciesRoom() {
  useCrumbs([{ label: "Policies" }]);
  return mayOperate(useMe()) ? <PolicyList /> : <NotForYou title="Policies" scope="operator" />;
}

/** What tenants may do and how much they may have, as operators said it. */
function PolicyList() {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.policies,
    queryFn: () => sandbar.policies.list().all(),
  });
  const [open, setOpen] = useState<TenantPolicy | "new" | null>(null);
  const [removing, setRemoving] = useState<TenantPolicy | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const refresh = () => client.invalidateQueries({ queryKey: keys.policies });
  useCommands([
    { id: "policy-set", title: "Set a policy", group: "Policies", shortcut: "c", run: () => setOpen("new") },
  ]);
  const columns: Column<TenantPolicy>[] = [
    {
      id: "tenant",
      header: "Tenant",
      width: "minmax(5rem, 1fr)",
      cell: ({ tenant }) =>
        tenant === ALL_TENANTS ? <span className="font-medium">all tenants</span> : <code>{tenant}</code>,
    },
    {
      id: "policy",
      header: "What was said",
      width: "minmax(8rem, 5fr)",
      cell: ({ policy }) => {
        const words = inWords(policy);
        return (
          <span className="text-muted" title={words}>
            {words || "nothing"}
          </span>
        );
      },
    },
    {
      id: "changed",
      header: "Changed",
      width: "5.5rem",
      from: "sm",
      cell: ({ updated_at }) => <Time at={updated_at} />,
    },
    {
      id: "remove",
      header: <span className="sr-only">Remove</span>,
      width: "1.75rem",
      cell: (policy) => (
        <IconButton
          label={`Take back the policy of ${nameOf(policy)}`}
          danger
          icon={<Trash2 />}
          onClick={() => setRemoving(policy)}
        />
      ),
    },
  ];
  const set = (
    <Button tone="primary" icon={<Plus />} onClick={() => setOpen("new")}>
      Set a policy
    </Button>
  );
  return (
    <Page title="Policies" actions={data && data.length > 0 && set}>
      <div ref={body} className="flex min-h-0 flex-1 flex-col">
        {error && !data ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <Table
            label="Policies"
            className="max-h-full"
            width={width}
            rows={data ?? []}
            columns={columns}
            rowKey={({ tenant }) => tenant}
            onOpen={setOpen}
            loading={isPending}
            empty={
              <EmptyState icon={<Scale />} title="Every tenant may do all that hosts offer" action={set}>
                <p>
                  A policy takes away: what sessions may have, their largest size, and how much a tenant has
                  at once.
                </p>
                <CodeSnippet className="mt-4 text-left" code={EXAMPLE} />
              </EmptyState>
            }
          />
        )}
      </div>
      {open && (
        <PolicyDialog
          known={open === "new" ? null : open}
          taken={data?.map(({ tenant }) => tenant) ?? []}
          onClose={() => setOpen(null)}
          onSaved={(tenant) => {
            setOpen(null);
            toast("Policy set", nameOf({ tenant }));
            void refresh();
          }}
        />
      )}
      <ConfirmDialog
        open={removing !== null}
        onOpenChange={(next) => !next && setRemoving(null)}
        title={`Take back the policy of ${removing ? nameOf(removing) : ""}?`}
        action="Take back"
        onConfirm={async () => {
          await sandbar.policies.remove(removing!.tenant);
          toast("Taken back", nameOf(removing!));
          await refresh();
        }}
      >
        <p>
          {removing?.tenant === ALL_TENANTS ? "The defaults hold" : "What holds for all tenants holds"} for
          sessions that are made from now on.
        </p>
      </ConfirmDialog>
    </Page>
  );
}

const nameOf = ({ tenant }: Pick<TenantPolicy, "tenant">) =>
  tenant === ALL_TENANTS ? "all tenants" : tenant;
