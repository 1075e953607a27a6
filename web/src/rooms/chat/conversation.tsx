import { type Language, type ThreadMessage as Message, newId } from "@sandbar/sdk";
import { LoaderCircle, TriangleAlert, X } from "lucide-react";
import { type RefObject, useMemo } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useNow } from "../../ui/use-now.ts";
import { Answer } from "./answer.tsx";
import { Approval } from "./approval.tsx";
import { withAttached, withoutAttached } from "./attached.ts";
import { turnsOf } from "./branches.ts";
import type { ChatThread } from "./chat-thread.ts";
import { type Item, itemsOf } from "./conversation-items.ts";
import type { Retry } from "./fold.ts";
import { textOf } from "./messages.ts";
import { Question, type QuestionItem } from "./question.tsx";
import {
  failureOf,
  isRunning,
  openInterrupt,
  shownMessages,
  type ThreadView,
  waitingRuns,
} from "./thread-view.ts";

/** Everything that was said, from the first question to what is being said now. */
export function Conversation({
  thread,
  view,
  runtime,
  list,
}: {
  thread: ChatThread;
  view: ThreadView;
  /** The sandbox's own language. */
  runtime: Language;
  list: RefObject<HTMLDivElement | null>;
}) {
  const running = isRunning(view);
  const messages = shownMessages(view);
  const interrupt = openInterrupt(view);
  const items = useMemo(() => {
    const all = itemsOf(messages, { outputs: view.outputs, runtime });
    return interrupt ? withoutWaiting(all) : all;
  }, [messages, view.outputs, runtime, interrupt]);
  const turns = useMemo(() => turnsOf(view.points, view.branch), [view.points, view.branch]);
  const questions = items.filter((item) => item.kind === "question");
  // From the end: what was summarised has no question any more.
  const turnOf = (item: Item) =>
    running ? null : (turns.at(questions.indexOf(item as QuestionItem) - questions.length) ?? null);
  const failure = failureOf(view);
  const broken = !running && view.branch === null && brokenOff(view);

  const tell = (work: Promise<void>, what: string) =>
    void work.catch((error: unknown) => toastError(error, what));
  const askAgain = (item: QuestionItem, text: string) => {
    const turn = turnOf(item);
    if (!turn) return;
    const before = messages.slice(0, messages.indexOf(item.message));
    tell(thread.ask(asked(item, text), { checkpoint: turn.from, messages: before }), "Ask");
  };
  const lastQuestion = questions.at(-1) as QuestionItem | undefined;
  const lastIsAnswer = items.at(-1)?.kind === "answer";

  return (
    <div ref={list} role="log" aria-label="Conversation" aria-busy={running} className="space-y-5">
      {items.map((item, index) => {
        if (item.kind === "summary") return <Summary key={item.key} text={item.text} />;
        const last = index === items.length - 1;
        if (item.kind === "answer")
          return (
            <Answer
              key={item.key}
              item={item}
              running={running && last}
              onAgain={
                last && !running && !interrupt && lastQuestion && turnOf(lastQuestion)
                  ? () => askAgain(lastQuestion, lastQuestion.text)
                  : undefined
              }
            />
          );
        const turn = turnOf(item);
        return (
          <Question
            key={item.key}
            item={item}
            turn={turn}
            onEdit={turn && !running ? askAgain : undefined}
            onShow={running ? undefined : (checkpoint) => tell(thread.show(checkpoint), "Show")}
          />
        );
      })}
      {running && <Progress retry={view.run?.retry ?? null} quiet={lastIsAnswer} />}
      {interrupt?.value?.actionRequests && (
        <Approval
          key={interrupt.id ?? "interrupt"}
          requests={interrupt.value.actionRequests}
          runtime={runtime}
          onDecide={(decisions) =>
            thread.decide(decisions).catch((error: unknown) => toastError(error, "Decide"))
          }
        />
      )}
      {!running && failure && (
        <ErrorNote
          error={{ code: failure.error, detail: failure.message }}
          onRetry={() => tell(thread.goOn(), "Try again")}
        />
      )}
      {broken && !failure && !interrupt && (
        <p className="flex items-center gap-2 text-xs text-muted">
          <TriangleAlert className="size-3.5 text-warn" aria-hidden />
          Stopped here.
          <Button size="sm" tone="quiet" onClick={() => tell(thread.goOn(), "Go on")}>
            Go on
          </Button>
        </p>
      )}
      <Waiting thread={thread} view={view} />
    </div>
  );
}

/** The same files and pictures with other words. */
function asked({ message, files }: QuestionItem, text: string): Message {
  const words = withAttached(text, files);
  const content =
    typeof message.content === "string"
      ? words
      : message.content.map((block) => (block.type === "text" ? { type: "text", text: words } : block));
  return { id: newId(), type: "human", content };
}

/** What waits for approval is shown with the question whether it may. */
function withoutWaiting(items: readonly Item[]): readonly Item[] {
  const last = items.at(-1);
  if (last?.kind !== "answer") return items;
  const parts = last.parts.filter((part) => part.kind !== "call" || part.call.state !== "open");
  return [...items.slice(0, -1), ...(parts.length > 0 ? [{ ...last, parts }] : [])];
}

/** The newest run was cancelled, and nothing has come since. */
function brokenOff({ runs, sent }: ThreadView): boolean {
  return runs[0]?.status === "interrupted" && sent.length === 0;
}

/** That something goes on, where nothing else shows it. */
function Progress({ retry, quiet }: { retry: Retry | null; quiet: boolean }) {
  return (
    <div className="flex h-5 items-center gap-2 text-xs text-muted" role="status">
      <LoaderCircle className="size-3.5 animate-spin text-accent" aria-hidden />
      {retry ? <Again retry={retry} /> : <span className={quiet ? "sr-only" : ""}>Thinking…</span>}
    </div>
  );
}

function Again({ retry: { at, status, detail } }: { retry: Retry }) {
  const seconds = Math.max(0, Math.ceil((at - useNow()) / 1000));
  const busy = status === 429 || status === 529 || status === 503;
  return (
    <span title={detail} className="text-warn">
      {busy ? "The provider is busy" : "The provider did not answer well"},{" "}
      {seconds > 0 ? `asking again in ${seconds} s` : "asking again"}
    </span>
  );
}

function Summary({ text }: { text: string }) {
  return (
    <details className="rounded-lg border px-3 py-2 text-muted">
      <summary className="cursor-pointer text-xs">
        What was said before, in short, as the model has it
      </summary>
      <p className="mt-2 break-words whitespace-pre-wrap">{text}</p>
    </details>
  );
}

function Waiting({ thread, view }: { thread: ChatThread; view: ThreadView }) {
  const waiting = waitingRuns(view);
  if (waiting.length === 0) return null;
  return (
    <ul aria-label="Questions that wait" className="space-y-2">
      {waiting.map(({ runId, message }) => (
        <li key={runId} className="flex items-center justify-end gap-2">
          <span className="text-xs text-faint">waits for its turn</span>
          <span className="max-w-[70%] truncate rounded-xl border border-dashed px-3.5 py-2 text-muted">
            {message ? withoutAttached(textOf(message)).text || "Files" : "A question of another client"}
          </span>
          <IconButton
            label="Take it back"
            icon={<X />}
            onClick={() =>
              void thread.cancel(runId).catch((error: unknown) => toastError(error, "Take back"))
            }
          />
        </li>
      ))}
    </ul>
  );
}
