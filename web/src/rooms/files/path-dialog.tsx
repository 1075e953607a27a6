import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";

/** Asks for a path. Stays open, with the error, when what is done with it fails. */
export function PathDialog({
  title,
  label,
  hint,
  action,
  initial,
  onSubmit,
  onClose,
}: {
  title: string;
  label: string;
  hint: string;
  action: string;
  initial: string;
  onSubmit: (path: string) => Promise<unknown>;
  onClose: () => void;
}) {
  const [path, setPath] = useState(initial);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onSubmit(path);
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open onOpenChange={(open) => !open && onClose()} title={title} width="sm">
      <form onSubmit={(event) => void submit(event)} className="space-y-4">
        <Field label={label} hint={hint}>
          {(ids) => (
            <Input
              {...ids}
              mono
              autoFocus
              value={path}
              // The name without its ending is what is changed most.
              onFocus={({ currentTarget }) => {
                const dot = initial.lastIndexOf(".");
                const start = initial.lastIndexOf("/") + 1;
                currentTarget.setSelectionRange(start, dot > start ? dot : initial.length);
              }}
              onChange={(event) => setPath(event.target.value)}
            />
          )}
        </Field>
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={busy} disabled={path.trim() === "" || path === initial}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
