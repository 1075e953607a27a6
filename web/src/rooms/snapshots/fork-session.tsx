import type { OnBusy, Session } from "@sandbar/sdk";
import { Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { queryClient } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { BusyChoice } from "./busy-choice.tsx";

const MOST = 16;

/** New sessions that begin as this one is now. One opens; of several there are links. */
export function ForkSession({ session, onClose }: { session: Session; onClose: () => void }) {
  const navigate = useNavigate();
  const [count, setCount] = useState("1");
  const [onBusy, setOnBusy] = useState<OnBusy>("wait");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [made, setMade] = useState<readonly Session[]>([]);
  const wanted = Number(count);
  const wrong = Number.isInteger(wanted) && wanted >= 1 && wanted <= MOST ? null : `1 to ${MOST}`;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (wrong) return;
    setBusy(true);
    setError(null);
    try {
      const forks = await session.fork(wanted, { onBusy });
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
      if (forks.length > 1) return setMade(forks);
      onClose();
      void navigate({ to: "/sessions/$id", params: { id: forks[0]!.id } });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (made.length > 0)
    return (
      <Dialog
        open
        onOpenChange={(next) => !next && onClose()}
        title={`${made.length} sessions`}
        description={`Each begins with the files and variables of ${session.key}.`}
      >
        <ul className="divide-y rounded-lg border">
          {made.map(({ id, key }) => (
            <li key={id} className="px-3 py-1.5">
              <Link
                to="/sessions/$id"
                params={{ id }}
                onClick={onClose}
                className="block truncate text-accent hover:underline"
              >
                {key}
              </Link>
            </li>
          ))}
        </ul>
      </Dialog>
    );
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title="Fork this session"
      description="New sessions begin with its files and variables, and go their own way. Volumes, processes and ports are not theirs."
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        <div className="grid gap-4 sm:grid-cols-[8rem_1fr]">
          <Field label="How many" error={wrong}>
            {(ids) => (
              <Input
                {...ids}
                autoFocus
                inputMode="numeric"
                value={count}
                onChange={(event) => setCount(event.target.value)}
              />
            )}
          </Field>
          <BusyChoice value={onBusy} onChange={setOnBusy} />
        </div>
        {error != null && <ErrorNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" tone="primary" busy={busy} disabled={wrong !== null}>
            Fork
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
