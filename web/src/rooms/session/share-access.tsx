import type { NewSessionToken, Session, TokenVerb } from "@sandbar/sdk";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { Time } from "../../ui/time.tsx";

const VERBS: readonly { value: TokenVerb; hint: string }[] = [
  { value: "read", hint: "Executions, their output, artifacts, metrics" },
  { value: "run", hint: "Code, contexts, processes" },
  { value: "files", hint: "Files, in and out" },
  { value: "terminal", hint: "Shells" },
  { value: "ports", hint: "Servers inside, previews" },
];

const LIVES = [
  { value: "900", label: "15 minutes" },
  { value: "3600", label: "1 hour" },
  { value: "28800", label: "8 hours" },
  { value: "86400", label: "1 day" },
] as const;

/** Asks what somebody else may do here, then shows the token, once. */
export function ShareAccess({
  session,
  open,
  onOpenChange,
}: {
  session: Session;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const [made, setMade] = useState<NewSessionToken | null>(null);
  const close = (next: boolean) => {
    if (!next) setMade(null);
    onOpenChange(next);
  };
  return (
    <Dialog
      open={open}
      onOpenChange={close}
      title={made ? "A token for this session" : "Share access"}
      description={
        made
          ? "Copy it now: it is not shown again."
          : "A token for this session alone. It stands wherever an API key does."
      }
    >
      {made ? <Made token={made} /> : <ShareForm session={session} onMade={setMade} />}
    </Dialog>
  );
}

function Made({ token: { token, verbs, expires_at } }: { token: NewSessionToken }) {
  return (
    <>
      <CodeSnippet code={token} />
      <p className="mt-3 mb-1 text-xs font-medium text-muted">For a shell</p>
      <CodeSnippet code={`export SANDBAR_URL=${location.origin}\nexport SANDBAR_API_KEY=${token}`} />
      <p className="mt-3 text-xs text-muted">
        For {verbs.join(", ")}. It ends <Time at={expires_at} />, or with the session.
      </p>
    </>
  );
}

function ShareForm({ session, onMade }: { session: Session; onMade: (token: NewSessionToken) => void }) {
  const [verbs, setVerbs] = useState<readonly TokenVerb[]>(["read"]);
  const [life, setLife] = useState<(typeof LIVES)[number]["value"]>("3600");
  const [label, setLabel] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const named = label.trim();
      onMade(await session.createToken({ verbs: [...verbs], ttlS: Number(life), label: named || undefined }));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };

  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-4">
      <fieldset>
        <legend className="mb-1 text-xs font-medium text-muted">Whoever has it may use</legend>
        <div className="space-y-1.5">
          {VERBS.map(({ value, hint }) => (
            <label key={value} htmlFor={`verb-${value}`} className="flex cursor-pointer items-center gap-2.5">
              <Checkbox
                id={`verb-${value}`}
                checked={verbs.includes(value)}
                onChange={(on) => setVerbs(on ? [...verbs, value] : verbs.filter((verb) => verb !== value))}
              />
              <span className="w-16 font-medium">{value}</span>
              <span className="min-w-0 text-xs text-muted">{hint}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <Field label="For whom" hint="Shown in lists of tokens">
        {(ids) => (
          <Input {...ids} maxLength={128} value={label} onChange={(event) => setLabel(event.target.value)} />
        )}
      </Field>
      <Field label="Ends after">
        {({ id }) => <Select id={id} value={life} onChange={setLife} options={LIVES} className="w-40" />}
      </Field>
      {error != null && <ErrorNote error={error} />}
      <div className="flex justify-end">
        <Button type="submit" tone="primary" busy={busy} disabled={verbs.length === 0}>
          Make a token
        </Button>
      </div>
    </form>
  );
}
