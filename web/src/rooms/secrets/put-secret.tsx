import type { Secret } from "@sandbar/sdk";
import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { problemOf } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, TextArea } from "../../ui/input.tsx";

/** A new secret, or another value for one that is known. */
export function PutSecretDialog({
  known,
  taken,
  onClose,
  onPut,
}: {
  known: Secret | null;
  /** Names that there are. */
  taken: readonly string[];
  onClose: () => void;
  onPut: (name: string) => void;
}) {
  const [name, setName] = useState(known?.name ?? "");
  const [value, setValue] = useState("");
  const [hosts, setHosts] = useState(known?.hosts.join("\n") ?? "");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const wrong = (field: string) =>
    error == null ? null : problemOf(error).fields.find(({ path }) => path.split(".")[0] === field)?.message;
  // Storing under a name that is there would replace it without a word.
  const clash = !known && taken.includes(name.trim()) ? "There is one of this name: replace that one." : null;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const wanted = hosts.split(/[\s,]+/).filter(Boolean);
      const saved = await sandbar.secrets.put(name.trim(), { value, hosts: wanted });
      onPut(saved.name);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={known ? `Replace ${known.name}` : "Store a secret"}
      description={
        known
          ? "Sessions that run use the new value within 30 seconds."
          : "It is sealed, and nobody is told its value again."
      }
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        {!known && (
          <Field label="Name" hint="Small letters, digits, dots, _ and -" error={clash ?? wrong("name")}>
            {(ids) => (
              <Input
                {...ids}
                mono
                autoFocus
                maxLength={63}
                placeholder="billing-api"
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field
          label="Value"
          hint="All that stands in the header, such as Bearer and the token"
          error={wrong("value")}
        >
          {(ids) => (
            <Input
              {...ids}
              type="password"
              autoComplete="new-password"
              autoFocus={known !== null}
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="May be sent to"
          hint="Hosts, one a line. Empty: wherever a session says."
          error={wrong("hosts")}
        >
          {(ids) => (
            <TextArea
              {...ids}
              mono
              placeholder="api.example.com"
              value={hosts}
              onChange={(event) => setHosts(event.target.value)}
            />
          )}
        </Field>
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            tone="primary"
            busy={busy}
            disabled={name.trim() === "" || value === "" || clash !== null}
          >
            {known ? "Replace" : "Store"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
