import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { problemOf } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";

export function CreateVolume({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (name: string) => void;
}) {
  const [name, setName] = useState("");
  const [size, setSize] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wrong = (field: string) =>
    error == null ? null : problemOf(error).fields.find(({ path }) => path === field)?.message;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const made = await sandbar.volumes.create(name.trim(), size.trim() ? { size_mb: Number(size) } : {});
      onCreated(made.name);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title="Create a volume"
      description="It is on the host of the first session that mounts it, and stays there."
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        <div className="grid gap-4 sm:grid-cols-[1fr_9rem]">
          <Field label="Name" hint="Small letters, digits, - and _" error={wrong("name")}>
            {(ids) => (
              <Input
                {...ids}
                mono
                autoFocus
                maxLength={63}
                placeholder="models"
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field label="Size, MB" error={wrong("size_mb")}>
            {(ids) => (
              <Input
                {...ids}
                inputMode="numeric"
                placeholder="host's default"
                value={size}
                onChange={(event) => setSize(event.target.value.trim())}
              />
            )}
          </Field>
        </div>
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            tone="primary"
            busy={busy}
            disabled={name.trim() === "" || (size !== "" && !/^\d+$/.test(size))}
          >
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
