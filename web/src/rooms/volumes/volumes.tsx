import type { Volume } from "@sandbar/sdk";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { HardDrive, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { NotForYou } from "../../shell/not-for-you.tsx";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Meter } from "../../ui/meter.tsx";
import { Page } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { CreateVolume } from "./create-volume.tsx";

const MB = 1024 * 1024;
const EXAMPLE = `client.session(volumes=[{"name": "models", "path": "/mnt/models"}])`;

export function VolumesRoom() {
  useCrumbs([{ label: "Volumes" }]);
  return useMe().scopes.includes("agent") ? <VolumeList /> : <NotForYou title="Volumes" scope="agent" />;
}

/** Folders that outlive sessions, and that several may share. */
function VolumeList() {
  const client = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: keys.volumes,
    queryFn: () => sandbar.volumes.list().all(),
  });
  const [creating, setCreating] = useState(false);
  const [removing, setRemoving] = useState<Volume | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const refresh = () => client.invalidateQueries({ queryKey: keys.volumes });
  useCommands([
    {
      id: "volume-create",
      title: "Create a volume",
      group: "Volumes",
      shortcut: "c",
      run: () => setCreating(true),
    },
  ]);
  const columns: Column<Volume>[] = [
    {
      id: "name",
      header: "Name",
      width: "minmax(6rem, 2fr)",
      cell: ({ name, id }) => (
        <span className="font-medium" title={id}>
          {name}
        </span>
      ),
    },
    {
      id: "size",
      header: "In use",
      width: "minmax(6.5rem, 14rem)",
      cell: (volume) => <Used volume={volume} />,
    },
    {
      id: "host",
      header: "Host",
      width: "minmax(6rem, 12rem)",
      from: "md",
      cell: ({ host_id }) =>
        host_id ? (
          <code className="text-xs text-muted" title={host_id}>
            …{host_id.slice(-8)}
          </code>
        ) : (
          <span className="text-faint">none yet</span>
        ),
    },
    {
      id: "age",
      header: "Age",
      width: "3rem",
      align: "right",
      cell: ({ created_at }) => <Time at={created_at} style="age" />,
    },
    {
      id: "remove",
      header: <span className="sr-only">Delete</span>,
      width: "1.75rem",
      cell: (volume) => (
        <IconButton
          label={`Delete ${volume.name}`}
          danger
          icon={<Trash2 />}
          onClick={() => setRemoving(volume)}
        />
      ),
    },
  ];
  const create = (
    <Button tone="primary" icon={<Plus />} onClick={() => setCreating(true)}>
      Create a volume
    </Button>
  );
  return (
    <Page title="Volumes" actions={data && data.length > 0 && create}>
      <div ref={body} className="flex min-h-0 flex-1 flex-col">
        {error && !data ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : (
          <Table
            label="Volumes"
            className="max-h-full"
            width={width}
            rows={data ?? []}
            columns={columns}
            rowKey={({ id }) => id}
            loading={isPending}
            empty={
              <EmptyState icon={<HardDrive />} title="No volumes yet" action={create}>
                <p>
                  A volume is a folder that outlives sessions. Mount it in a new one by its name; a name that
                  is not there yet makes one.
                </p>
                <CodeSnippet className="mt-4 text-left" code={EXAMPLE} />
              </EmptyState>
            }
          />
        )}
      </div>
      {creating && (
        <CreateVolume
          onClose={() => setCreating(false)}
          onCreated={(name) => {
            setCreating(false);
            toast("Created", name);
            void refresh();
          }}
        />
      )}
      <ConfirmDialog
        open={removing !== null}
        onOpenChange={(next) => !next && setRemoving(null)}
        title={`Delete the volume ${removing?.name}?`}
        action="Delete volume"
        onConfirm={async () => {
          await sandbar.volumes.remove(removing!.id);
          toast("Deleted", removing!.name);
          await refresh();
        }}
      >
        <p>All that is in it is lost. One that a session has mounted is not deleted.</p>
      </ConfirmDialog>
    </Page>
  );
}

function Used({ volume: { name, size, size_mb } }: { volume: Volume }) {
  if (size === null && size_mb === null) return <span className="text-faint">–</span>;
  return (
    <span className="flex items-center gap-3">
      <span className="truncate text-xs tabular-nums">
        {size === null ? "–" : formatBytes(size)}
        {size_mb !== null && <span className="text-faint"> of {formatBytes(size_mb * MB)}</span>}
      </span>
      {size !== null && size_mb !== null && (
        <Meter
          value={size}
          max={size_mb * MB}
          label={`In use of ${name}`}
          className="ml-auto w-16 shrink-0 max-sm:hidden"
        />
      )}
    </span>
  );
}
