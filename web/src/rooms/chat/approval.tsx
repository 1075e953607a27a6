import type { ActionRequest, Decision, Language } from "@sandbar/sdk";
import { ShieldQuestion } from "lucide-react";
import { useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { CodeView } from "../notebook/code-area.tsx";

/** Calls that wait for a human's word. When each has one, the run goes on. */
export function Approval({
  requests,
  runtime,
  onDecide,
}: {
  requests: readonly ActionRequest[];
  runtime: Language;
  onDecide: (decisions: Decision[]) => Promise<void>;
}) {
  const [decided, setDecided] = useState<readonly (Decision | null)[]>(requests.map(() => null));
  const [busy, setBusy] = useState(false);
  const decide = async (index: number, decision: Decision) => {
    const next = decided.with(index, decision);
    setDecided(next);
    if (next.some((each) => each === null)) return;
    setBusy(true);
    try {
      await onDecide(next as Decision[]);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section
      aria-label="Waits for your word"
      className="overflow-hidden rounded-lg border border-warn/50 bg-surface"
    >
      <header className="flex items-center gap-2 bg-warn-soft px-3 py-2 text-warn">
        <ShieldQuestion className="size-4 shrink-0" aria-hidden />
        <p className="font-medium">
          {requests.length === 1
            ? "May this run in the sandbox?"
            : `May these ${requests.length} run in the sandbox?`}
        </p>
      </header>
      {requests.map((request, index) => (
        <One
          key={`${index + 1}`}
          request={request}
          runtime={runtime}
          decision={decided[index] ?? null}
          busy={busy}
          onDecide={(decision) => void decide(index, decision)}
        />
      ))}
    </section>
  );
}

function One({
  request,
  runtime,
  decision,
  busy,
  onDecide,
}: {
  request: ActionRequest;
  runtime: Language;
  decision: Decision | null;
  busy: boolean;
  onDecide: (decision: Decision) => void;
}) {
  const field = request.name === "terminal" ? "command" : "code";
  const code = String(request.args[field] ?? "");
  const [edited, setEdited] = useState<string | null>(null);
  const [why, setWhy] = useState<string | null>(null);
  const disabled = busy || decision !== null;
  return (
    <div className="border-t border-line/60 first-of-type:border-t-0">
      {edited === null ? (
        <CodeView code={code} language={request.name === "terminal" ? "bash" : runtime} />
      ) : (
        <TextArea
          mono
          autoFocus
          aria-label="Code to run instead"
          className="field-sizing-content max-h-96 rounded-none border-0 px-3 py-2"
          value={edited}
          onChange={({ target }) => setEdited(target.value)}
        />
      )}
      <div className="flex flex-wrap items-center gap-2 border-t border-line/60 px-3 py-2">
        {why !== null ? (
          <form
            className="flex min-w-0 flex-1 flex-wrap gap-2"
            onSubmit={(event) => {
              event.preventDefault();
              onDecide({ type: "reject", ...(why.trim() ? { message: why.trim() } : {}) });
            }}
          >
            <Input
              autoFocus
              aria-label="Why not"
              placeholder="Why not, for the model (optional)"
              className="min-w-40 flex-1"
              value={why}
              onChange={({ target }) => setWhy(target.value)}
              onKeyDown={({ key }) => key === "Escape" && setWhy(null)}
            />
            <Button tone="danger" type="submit" disabled={disabled}>
              Reject
            </Button>
            <Button tone="quiet" onClick={() => setWhy(null)}>
              Back
            </Button>
          </form>
        ) : (
          <>
            <Button
              tone="primary"
              busy={busy}
              disabled={disabled}
              onClick={() =>
                onDecide(
                  edited === null || edited === code
                    ? { type: "approve" }
                    : {
                        type: "edit",
                        editedAction: { name: request.name, args: { ...request.args, [field]: edited } },
                      },
                )
              }
            >
              {edited === null ? "Approve" : "Run this"}
            </Button>
            <Button disabled={disabled} onClick={() => setEdited(edited === null ? code : null)}>
              {edited === null ? "Edit" : "Back"}
            </Button>
            <Button disabled={disabled} onClick={() => setWhy("")}>
              Reject
            </Button>
            {decision && <span className="text-xs text-muted">decided</span>}
          </>
        )}
      </div>
    </div>
  );
}
