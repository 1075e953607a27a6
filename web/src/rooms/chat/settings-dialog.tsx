import { useQuery } from "@tanstack/react-query";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { settingsQuery } from "./settings-query.ts";

export function SettingsDialog({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const { data, error } = useQuery(settingsQuery);
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Model and settings"
      description="Of your tenant: every chat uses them from its next question on."
    >
      {error && <ErrorNote error={error} />}
      {data && <SettingsForm settings={data} onSaved={() => onOpenChange(false)} />}
    </Dialog>
  );
}
