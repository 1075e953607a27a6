import type { ApiKey } from "@sandbar/sdk";
import type { Scope } from "@sandbar/shared";
import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { useMe } from "../../api/me.ts";
import { problemOf } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";

const SCOPES: readonly { value: Scope; hint: string }[] = [
  { value: "agent", hint: "Sessions, code, files, artifacts of its tenant" },
  { value: "operator", hint: "Hosts, dataset sources, usage of all tenants; runs no code" },
  { value: "admin", hint: "Everything, and keys" },
];

const DAY_MS = 24 * 3600_000;
const LIVES = [
  { value: "0", label: "Never" },
  { value: "1", label: "In 1 day" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
] as const;

/** Asks what the key is for, then shows its secret, once. */
export function CreateKey({
  open,
  onOpenChange,
  onCreated,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  onCreated: () => void;
}) {
  const [made, setMade] = useState<(ApiKey & { secret: string }) | null>(null);
  const close = (next: boolean) => {
    if (!next) setMade(null);
    onOpenChange(next);
  };
  if (made)
    return (
      <Dialog
        open={open}
        onOpenChange={close}
        title={`The key ${made.name}`}
        description="Copy the secret now: it is not shown again, and nobody can look it up."
        footer={
          <Button tone="primary" onClick={() => close(false)}>
            I have copied it
          </Button>
        }
      >
        <CodeSnippet code={made.secret} />
        <p className="mt-3 mb-1 text-xs font-medium text-muted">For a shell</p>
        <CodeSnippet code={`export SANDBAR_URL=${location.origin}\nexport SANDBAR_API_KEY=${made.secret}`} />
      </Dialog>
    );
  return (
    <Dialog open={open} onOpenChange={close} title="Create an API key">
      <KeyForm
        onCreated={(key) => {
          setMade(key);
          onCreated();
        }}
      />
    </Dialog>
  );
}

function KeyForm({ onCreated }: { onCreated: (key: ApiKey & { secret: string }) => void }) {
  const me = useMe();
  const [name, setName] = useState("");
  const [tenant, setTenant] = useState(me.tenant);
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set(["agent"]));
  const [days, setDays] = useState<(typeof LIVES)[number]["value"]>("0");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const expires_at =
        days === "0" ? undefined : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
      onCreated(
        await sandbar.keys.create({
          name: name.trim(),
          tenant: tenant.trim(),
          scopes: [...scopes],
          expires_at,
        }),
      );
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const wrong = (path: string) =>
    error == null ? null : problemOf(error).fields.find((field) => field.path.endsWith(path))?.message;

  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-4">
      <Field label="Name" hint="What or whom it is for" error={wrong("name")}>
        {(ids) => (
          <Input
            {...ids}
            required
            maxLength={128}
            autoFocus
            placeholder="research-agent"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Field
        label="Tenant"
        hint="Keys of one tenant share its sessions and artifacts; tenants never see each other"
        error={wrong("tenant")}
      >
        {(ids) => (
          <Input {...ids} required mono value={tenant} onChange={(event) => setTenant(event.target.value)} />
        )}
      </Field>
      <fieldset>
        <legend className="mb-1 text-xs font-medium text-muted">Scopes</legend>
        <div className="space-y-1.5">
          {SCOPES.map(({ value, hint }) => (
            <label
              key={value}
              htmlFor={`scope-${value}`}
              className="flex cursor-pointer items-center gap-2.5"
            >
              <Checkbox
                id={`scope-${value}`}
                checked={scopes.has(value)}
                onChange={(on) => setScopes(withScope(scopes, value, on))}
              />
              <span className="w-16 shrink-0 font-medium">{value}</span>
              <span className="min-w-0 text-xs text-muted">{hint}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <Field label="Expires">
        {({ id }) => <Select id={id} value={days} onChange={setDays} options={LIVES} className="w-40" />}
      </Field>
      {error != null && <ErrorNote error={error} />}
      <div className="flex justify-end">
        <Button
          type="submit"
          tone="primary"
          busy={busy}
          disabled={!name.trim() || !tenant.trim() || scopes.size === 0}
        >
          Create key
        </Button>
      </div>
    </form>
  );
}

function withScope(scopes: ReadonlySet<Scope>, scope: Scope, on: boolean): ReadonlySet<Scope> {
  const next = new Set(scopes);
  if (on) next.add(scope);
  else next.delete(scope);
  return next;
}
