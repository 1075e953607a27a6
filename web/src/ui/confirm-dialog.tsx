import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { ErrorNote } from "./error-note.tsx";

/** Asks before something that cannot be taken back. Stays open, with the error, when it fails. */
export function ConfirmDialog({
  open,
  onOpenChange,
  title,
  action,
  onConfirm,
  danger = true,
  children,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** The button's words, such as "Stop session". */
  action: string;
  onConfirm: () => Promise<unknown>;
  danger?: boolean;
  /** What will be lost, in a sentence. */
  children?: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onOpenChange(false);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        setError(null);
        onOpenChange(next);
      }}
      title={title}
      width="sm"
      footer={
        <>
          <Button tone="quiet" onClick={() => onOpenChange(false)}>
            Cancel
          </Button>
          <Button tone={danger ? "danger" : "primary"} busy={busy} onClick={() => void confirm()}>
            {action}
          </Button>
        </>
      }
    >
      {(children || error != null) && (
        <div className="space-y-3 text-sm text-muted">
          {children}
          {error != null && <ErrorNote error={error} />}
        </div>
      )}
    </Dialog>
  );
}
