import type { Session, SessionNetwork } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { EMPTY_LINE, formOf, rulesOf, type SecretLine } from "./rules-form.ts";

/** No secret's name begins like this. */
const OWN_VALUE = "-";

/** Other rules instead: what they do not allow ends at once. */
export function ChangeRules({
  session,
  network,
  onClose,
  onChanged,
}: {
  session: Session;
  network: SessionNetwork;
  onClose: () => void;
  onChanged: (network: SessionNetwork) => void;
}) {
  const [form, setForm] = useState(() => formOf(network));
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const stored = useQuery({ queryKey: keys.secrets, queryFn: () => sandbar.secrets.list() });
  const setLine = (index: number, change: Partial<SecretLine>) =>
    setForm((before) => ({
      ...before,
      secrets: before.secrets.map((line, at) => (at === index ? { ...line, ...change } : line)),
    }));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const result = rulesOf(form);
    setError(null);
    if ("wrong" in result) return setWrong(result.wrong);
    setWrong(null);
    setBusy(true);
    try {
      onChanged(await session.setNetwork(result.rules));
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title="What it may reach"
      description="These rules hold at once, in place of those before. Connections that they do not allow end."
      width="lg"
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        <Field
          label="Hosts"
          hint="One a line: a name, *.name for all below it, with a port or without (80 and 443)."
        >
          {(ids) => (
            <TextArea
              {...ids}
              mono
              autoFocus
              rows={4}
              placeholder={"files.example.org\n*.example.com:443"}
              value={form.allow}
              onChange={(event) => setForm({ ...form, allow: event.target.value })}
            />
          )}
        </Field>
        <fieldset className="space-y-2">
          <legend className="mb-1 text-xs font-medium text-muted">Secrets that code never sees</legend>
          {form.secrets.map((line, index) => (
            <div
              key={`line ${index + 1}`}
              className="grid grid-cols-2 items-center gap-2 sm:grid-cols-[1.4fr_1fr_1fr_1fr_auto]"
            >
              <Input
                aria-label="Host of the secret"
                mono
                placeholder="api.example.com"
                value={line.host}
                onChange={(event) => setLine(index, { host: event.target.value })}
              />
              <Input
                aria-label="Header"
                mono
                value={line.header}
                onChange={(event) => setLine(index, { header: event.target.value })}
              />
              <Select
                label="Secret"
                value={line.secret || OWN_VALUE}
                onChange={(secret) => setLine(index, { secret: secret === OWN_VALUE ? "" : secret })}
                options={[
                  { value: OWN_VALUE, label: "its own value" },
                  ...(stored.data ?? []).map(({ name }) => ({ value: name, label: name })),
                ]}
              />
              <Input
                aria-label="Value"
                type="password"
                disabled={line.secret !== ""}
                placeholder={line.secret ? "stored" : "Bearer …"}
                value={line.value}
                onChange={(event) => setLine(index, { value: event.target.value })}
              />
              <IconButton
                label="Remove"
                icon={<X />}
                className="max-sm:col-span-2 max-sm:justify-self-end"
                onClick={() => setForm({ ...form, secrets: form.secrets.filter((_, at) => at !== index) })}
              />
            </div>
          ))}
          <Button
            size="sm"
            icon={<Plus />}
            onClick={() => setForm({ ...form, secrets: [...form.secrets, EMPTY_LINE] })}
          >
            Add a secret
          </Button>
          <p className="text-xs text-faint">
            The host adds the header on the way. Stored ones are kept in <em>Secrets</em>.
          </p>
        </fieldset>
        {wrong && (
          <p role="alert" className="text-xs text-danger">
            {wrong}
          </p>
        )}
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={busy}>
            Apply
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
