import type { Context, Language, Session } from "@sandbar/sdk";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Segments } from "../../ui/segments.tsx";
import { languagesOf } from "./context-choices.ts";

/** Another kernel of the session, with variables of its own. */
export function NewContextDialog({
  open,
  onOpenChange,
  session,
  onMade,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  session: Session;
  onMade: (context: Context) => void;
}) {
  const [name, setName] = useState("");
  const [language, setLanguage] = useState<Language>(session.info.runtime);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      onMade(await session.contexts.create(name.trim(), language));
      setName("");
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
      onOpenChange={onOpenChange}
      title="New context"
      description="A kernel of its own beside the others: same files, other variables."
      width="sm"
      footer={
        <>
          <Button tone="quiet" onClick={() => onOpenChange(false)}>
            Cancel
          </Button>
          <Button tone="primary" type="submit" form="new-context" busy={busy} disabled={name.trim() === ""}>
            Create
          </Button>
        </>
      }
    >
      <form id="new-context" onSubmit={(event) => void submit(event)} className="space-y-3">
        <Segments
          label="Language"
          value={language}
          options={languagesOf(session.info).map((value) => ({ value, label: languageName(value) }))}
          onChange={setLanguage}
        />
        <Field label="Name">
          {(ids) => (
            <Input
              {...ids}
              autoFocus
              placeholder="experiment"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        {error != null && <ErrorNote error={error} />}
      </form>
    </Dialog>
  );
}
