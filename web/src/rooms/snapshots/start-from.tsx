import type { Snapshot } from "@sandbar/sdk";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { problemOf } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { nameOf } from "./snapshot-names.ts";

/** A session that begins with a snapshot, and is otherwise as the one it was taken of. */
export function StartFrom({ snapshot, onClose }: { snapshot: Snapshot; onClose: () => void }) {
  const navigate = useNavigate();
  const [key, setKey] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wrong = error == null ? null : problemOf(error).fields.find(({ path }) => path === "key")?.message;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const session = await sandbar.session({ snapshot: snapshot.id, key: key.trim() || undefined });
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
      onClose();
      void navigate({ to: "/sessions/$id", params: { id: session.id } });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Start from ${nameOf(snapshot)}`}
      description="Runtime, image, packages, limits and network are those of the session that it was taken of."
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        <Field label="Key" hint="The same key finds the same session again; may be left out" error={wrong}>
          {(ids) => (
            <Input
              {...ids}
              autoFocus
              maxLength={256}
              placeholder="second-attempt"
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          )}
        </Field>
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={busy}>
            Start session
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
