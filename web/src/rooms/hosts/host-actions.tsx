import type { Host } from "@sandbar/sdk";
import { useQueryClient } from "@tanstack/react-query";
import { Ban, CircleCheck, EllipsisVertical, Hourglass, Trash2 } from "lucide-react";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { toast, toastError } from "../../ui/toast.tsx";

/** What an operator can do to a host. */
export function HostActions({ host }: { host: Host }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState<"drain" | "remove" | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: keys.hosts });
  const cordon = async (on: boolean) => {
    try {
      await (on ? sandbar.hosts.cordon(host.id) : sandbar.hosts.uncordon(host.id));
      toast(on ? "Cordoned" : "Uncordoned", host.name);
      await refresh();
    } catch (error) {
      toastError(error, on ? "Cordon" : "Uncordon");
    }
  };
  const sessions = `${host.sessions} ${host.sessions === 1 ? "session" : "sessions"}`;
  return (
    <>
      <Menu
        trigger={<IconButton label={`Actions for ${host.name}`} icon={<EllipsisVertical />} />}
        items={[
          host.cordoned
            ? { label: "Uncordon", icon: <CircleCheck />, onSelect: () => void cordon(false) }
            : { label: "Cordon", icon: <Ban />, onSelect: () => void cordon(true) },
          { label: "Drain…", icon: <Hourglass />, onSelect: () => setAsking("drain") },
          null,
          { label: "Remove…", icon: <Trash2 />, danger: true, onSelect: () => setAsking("remove") },
        ]}
      />
      <ConfirmDialog
        open={asking === "drain"}
        onOpenChange={(next) => !next && setAsking(null)}
        title={`Drain ${host.name}?`}
        action="Drain host"
        onConfirm={async () => {
          await sandbar.hosts.drain(host.id);
          await refresh();
        }}
      >
        <p>
          Nothing new is placed there, and its {sessions} will be stopped. Their artifacts stay; what is only
          in the sessions is lost.
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        open={asking === "remove"}
        onOpenChange={(next) => !next && setAsking(null)}
        title={`Remove ${host.name}?`}
        action="Remove host"
        onConfirm={async () => {
          await sandbar.hosts.remove(host.id);
          toast("Removed", host.name);
          await refresh();
        }}
      >
        <p>
          {host.sessions > 0
            ? `Its ${sessions} will be lost. Drain it first to end them in order.`
            : "It has no sessions."}{" "}
          Its daemon ends and is not let in again; the machine can join anew with another command.
        </p>
      </ConfirmDialog>
    </>
  );
}
