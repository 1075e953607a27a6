import type { OnBusy, Session } from "@sandbar/sdk";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { queryClient } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { BusyChoice } from "./busy-choice.tsx";
import { nameOf } from "./snapshot-names.ts";

const DAY_S = 24 * 3600;
const LIVES = [
  { value: "1", label: "1 day" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "365", label: "A year" },
] as const;

/** Asks how, and takes it; it goes on when the dialog is closed, and says in passing how it ended. */
export function TakeSnapshot({
  session,
  onClose,
  onTaken,
}: {
  session: Session;
  onClose: () => void;
  /** Somebody still looks. */
  onTaken: (id: string) => void;
}) {
  const [name, setName] = useState("");
  const [days, setDays] = useState<(typeof LIVES)[number]["value"]>("7");
  const [onBusy, setOnBusy] = useState<OnBusy>("wait");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const open = useRef(true);
  useEffect(() => {
    open.current = true;
    return () => {
      open.current = false;
    };
  }, []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const taken = await session.snapshot({
        name: name.trim() || undefined,
        ttlS: Number(days) * DAY_S,
        onBusy,
      });
      await queryClient.invalidateQueries({ queryKey: keys.snapshots });
      if (open.current) onTaken(taken.id);
      else toast("Snapshot taken", nameOf(taken));
    } catch (failure) {
      if (!open.current) return toastError(failure, "Snapshot");
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title="Take a snapshot"
      description="Keeps the files of /session and the variables of every context. The session goes on."
    >
      <form onSubmit={(event) => void submit(event)} className="space-y-4 pt-2">
        <div className="grid gap-4 sm:grid-cols-[1fr_8rem]">
          <Field label="Name" hint="Anything that tells it from others; may be left out">
            {(ids) => (
              <Input
                {...ids}
                autoFocus
                maxLength={128}
                placeholder="before-training"
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
          <Field label="Kept for">
            {({ id }) => (
              <Select id={id} className="w-full" value={days} onChange={setDays} options={LIVES} />
            )}
          </Field>
        </div>
        <BusyChoice value={onBusy} onChange={setOnBusy} />
        {error != null && <ErrorNote error={error} />}
        <div className="flex items-center justify-end gap-2">
          {busy && <p className="mr-auto text-xs text-faint">It goes on when you close this.</p>}
          <Button tone="quiet" onClick={onClose}>
            {busy ? "Close" : "Cancel"}
          </Button>
          <Button type="submit" tone="primary" busy={busy}>
            Take snapshot
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
