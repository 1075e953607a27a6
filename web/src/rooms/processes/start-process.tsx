import type { Process, Session } from "@sandbar/sdk";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { envOf } from "./env-lines.ts";

export function StartProcess({
  session,
  onStarted,
  onClose,
}: {
  session: Session;
  onStarted: (process: Process) => void;
  onClose: () => void;
}) {
  const [command, setCommand] = useState("");
  const [cwd, setCwd] = useState("");
  const [env, setEnv] = useState("");
  const [pty, setPty] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { env: variables, wrong } = envOf(env);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const started = await session.processes.start(command, {
        ...(cwd.trim() ? { cwd: cwd.trim() } : {}),
        ...(Object.keys(variables).length > 0 ? { env: variables } : {}),
        ...(pty ? { pty: { cols: 100, rows: 30 } } : {}),
      });
      onStarted(started);
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Start a process"
      description="It runs until it ends, is ended here, or the session ends."
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        <Field label="Command" hint="For the shell.">
          {(ids) => (
            <TextArea
              {...ids}
              mono
              autoFocus
              placeholder="python3 -m http.server 8000"
              value={command}
              onChange={(event) => setCommand(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
                  event.currentTarget.form?.requestSubmit();
              }}
            />
          )}
        </Field>
        <Field label="Folder">
          {(ids) => (
            <Input
              {...ids}
              mono
              placeholder="/session"
              value={cwd}
              onChange={(event) => setCwd(event.target.value)}
            />
          )}
        </Field>
        <Field
          label="Environment"
          hint="One NAME=value on each line."
          error={wrong === null ? null : `“${wrong.slice(0, 40)}” is not NAME=value.`}
        >
          {(ids) => (
            <TextArea
              {...ids}
              mono
              placeholder="DEBUG=1"
              value={env}
              onChange={(event) => setEnv(event.target.value)}
            />
          )}
        </Field>
        <div className="flex items-start gap-2">
          <Checkbox id="with-pty" checked={pty} onChange={setPty} className="mt-0.5" />
          <label htmlFor="with-pty">
            With a terminal
            <span className="block text-xs text-faint">
              For programs that draw or ask. It is a tab of Terminal too.
            </span>
          </label>
        </div>
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={busy} disabled={command.trim() === "" || wrong !== null}>
            Start
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
