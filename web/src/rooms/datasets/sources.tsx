import type { DatasetSource } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { headersOf } from "./headers-of.ts";

/** Where datasets come from, for operators. */
export function Sources() {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.datasetSources,
    queryFn: () => sandbar.datasetSources.list().all(),
  });
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<DatasetSource | null>(null);
  const [box, width] = useWidth<HTMLDivElement>();
  const refresh = () => client.invalidateQueries({ queryKey: keys.datasetSources });
  const columns: Column<DatasetSource>[] = [
    {
      id: "name",
      header: "Name",
      width: "minmax(5rem, 1fr)",
      cell: ({ name }) => <span className="font-medium">{name}</span>,
    },
    {
      id: "url",
      header: "URL",
      width: "minmax(8rem, 3fr)",
      cell: ({ url_template }) => (
        <code className="text-xs text-muted" title={url_template}>
          {url_template}
        </code>
      ),
    },
    {
      id: "tenant",
      header: "For",
      width: "6rem",
      from: "md",
      cell: ({ tenant }) => (tenant ? <code className="text-xs">{tenant}</code> : "all tenants"),
    },
    {
      id: "secrets",
      header: "Secret headers",
      width: "minmax(7rem, 1fr)",
      from: "lg",
      cell: ({ header_names, allow_private }) => (
        <span className="flex gap-1">
          {header_names.length === 0 && <span className="text-faint">none</span>}
          {header_names.map((name) => (
            <Badge key={name}>{name}</Badge>
          ))}
          {allow_private && <Badge tone="warn">private addresses</Badge>}
        </span>
      ),
    },
    {
      id: "age",
      header: "Added",
      width: "4.5rem",
      from: "lg",
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      id: "remove",
      header: <span className="sr-only">Remove</span>,
      width: "1.75rem",
      cell: (source) => (
        <IconButton
          label={`Remove ${source.name}`}
          danger
          icon={<Trash2 />}
          onClick={() => setRemoving(source)}
        />
      ),
    },
  ];
  return (
    <section className="space-y-3">
      <div className="flex min-h-8 items-center justify-between gap-3">
        <h2 className="font-semibold">Sources</h2>
        <Button icon={<Plus />} onClick={() => setAdding(true)}>
          Add a source
        </Button>
      </div>
      <div ref={box}>
        {error && !data ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <Table
            label="Dataset sources"
            className="max-h-80"
            width={width}
            rows={data ?? []}
            columns={columns}
            rowKey={({ id }) => id}
            loading={isPending}
            empty={
              <p className="rounded-lg border border-dashed px-4 py-6 text-center text-muted">
                A source is an HTTP server that answers datasets by id. Hosts fetch from it with headers that
                no sandbox ever sees.
              </p>
            }
          />
        )}
      </div>
      <Dialog
        open={adding}
        onOpenChange={setAdding}
        title="Add a source"
        description="Hosts fetch datasets from it. The values of its headers are sealed and never shown again."
      >
        <SourceForm
          onAdded={() => {
            setAdding(false);
            void refresh();
          }}
        />
      </Dialog>
      <ConfirmDialog
        open={removing !== null}
        onOpenChange={(next) => !next && setRemoving(null)}
        title={`Remove the source ${removing?.name}?`}
        action="Remove source"
        onConfirm={async () => {
          await sandbar.datasetSources.remove(removing!.id);
          toast("Removed", removing!.name);
          await refresh();
        }}
      >
        <p>Nothing more can be staged from it. Datasets that are staged stay.</p>
      </ConfirmDialog>
    </section>
  );
}

function SourceForm({ onAdded }: { onAdded: () => void }) {
  const [name, setName] = useState("");
  const [template, setTemplate] = useState("");
  const [headers, setHeaders] = useState("");
  const [tenant, setTenant] = useState("");
  const [allowPrivate, setAllowPrivate] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await sandbar.datasetSources.create({
        name: name.trim(),
        url_template: template.trim(),
        headers: headersOf(headers),
        allow_private: allowPrivate,
        ...(tenant.trim() ? { tenant: tenant.trim() } : {}),
      });
      onAdded();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-4">
      <Field label="Name">
        {(ids) => (
          <Input
            {...ids}
            required
            autoFocus
            placeholder="lake"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field label="URL" hint="{id} stands for the dataset's id, {version} for its version">
        {(ids) => (
          <Input
            {...ids}
            mono
            required
            placeholder="https://data.example.com/{id}.parquet"
            value={template}
            onChange={(event) => setTemplate(event.target.value)}
          />
        )}
      </Field>
      <Field label="Secret headers" hint="One in a line, such as Authorization: Bearer …">
        {(ids) => (
          <TextArea {...ids} mono value={headers} onChange={(event) => setHeaders(event.target.value)} />
        )}
      </Field>
      <Field label="Tenant" hint="Only this one may use it; empty for all">
        {(ids) => <Input {...ids} mono value={tenant} onChange={(event) => setTenant(event.target.value)} />}
      </Field>
      <label htmlFor="allow-private" className="flex cursor-pointer items-center gap-2.5">
        <Checkbox id="allow-private" checked={allowPrivate} onChange={setAllowPrivate} />
        It may be at a private or loopback address
      </label>
      {error != null && <ErrorNote error={error} />}
      <div className="flex justify-end">
        <Button type="submit" tone="primary" busy={busy} disabled={!name.trim() || !template.trim()}>
          Add source
        </Button>
      </div>
    </form>
  );
}
