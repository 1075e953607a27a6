import { SandbarError, type Session } from "@sandbar/sdk";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { CreateFields } from "./create-fields.tsx";
import { type CreateForm, EMPTY_FORM, requestOf, wrongFields } from "./create-form.ts";
import { CreationProgress } from "./creation-progress.tsx";

/** The form, and then how the making goes. */
export function CreateSessionDialog({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const navigate = useNavigate();
  const [form, setForm] = useState<CreateForm>(EMPTY_FORM);
  const [wrong, setWrong] = useState<Partial<Record<keyof CreateForm, string>>>({});
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<Session | null>(null);
  const fields = useRef<HTMLFormElement>(null);
  const set = (change: Partial<CreateForm>) => {
    setForm((before) => ({ ...before, ...change }));
    // What is being put right is no longer called wrong.
    setWrong((before) => {
      const left = { ...before };
      for (const field of Object.keys(change)) delete left[field as keyof CreateForm];
      return left;
    });
  };
  // Found at each attempt, and not while somebody types.
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (attempt > 0) fields.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [attempt]);
  const refuse = (found: Partial<Record<keyof CreateForm, string>>) => {
    setWrong(found);
    setAttempt((before) => before + 1);
  };

  const close = () => {
    onOpenChange(false);
    setMade(null);
    setError(null);
    setWrong({});
  };
  const submit = async () => {
    const result = requestOf(form);
    if ("wrong" in result) return refuse(result.wrong);
    setWrong({});
    setError(null);
    setBusy(true);
    try {
      const session = await sandbar.session(result.request, { wait: false });
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
      setMade(session);
      if (session.info.status === "ready" || session.info.status === "busy") enter(session);
    } catch (failure) {
      setError(failure);
      if (failure instanceof SandbarError) refuse(wrongFields(failure.errors));
    } finally {
      setBusy(false);
    }
  };
  const enter = (session: Session) => {
    setForm(EMPTY_FORM);
    close();
    void navigate({ to: "/sessions/$id", params: { id: session.id } });
  };

  return (
    <Dialog
      open={open}
      onOpenChange={(next) => (next ? onOpenChange(true) : close())}
      title={made ? `Making ${made.key}` : "New session"}
      width="lg"
      footer={
        made ? (
          <Button tone="quiet" onClick={close}>
            Leave it to itself
          </Button>
        ) : (
          <>
            <Button tone="quiet" onClick={close}>
              Cancel
            </Button>
            <Button tone="primary" type="submit" form="create-session" busy={busy}>
              Create session
            </Button>
          </>
        )
      }
    >
      {made ? (
        <CreationProgress session={made} onReady={() => enter(made)} onAgain={() => setMade(null)} />
      ) : (
        <form
          ref={fields}
          id="create-session"
          className="space-y-4 pt-1"
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            void submit();
          }}
        >
          <CreateFields form={form} wrong={wrong} onChange={set} />
          {error != null && <ErrorNote error={error} />}
        </form>
      )}
    </Dialog>
  );
}
