import { RotateCw } from "lucide-react";
import { lazy, memo, Suspense, useDeferredValue } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { CallView } from "./call-view.tsx";
import type { Item } from "./conversation-items.ts";

const Markdown = lazy(() => import("../notebook/markdown.tsx"));

export type AnswerItem = Extract<Item, { kind: "answer" }>;

/** What was said, and the calls in between. */
export const Answer = memo(function Answer({
  item,
  running,
  onAgain,
}: {
  item: AnswerItem;
  /** It is being written. */
  running: boolean;
  /** Asks the same once more. */
  onAgain?: () => void;
}) {
  const text = item.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");
  return (
    <article aria-label="Answer" className="group/answer space-y-3">
      {item.parts.map((part) =>
        part.kind === "call" ? (
          <CallView key={part.key} call={part.call} running={running} />
        ) : (
          <Words key={part.key} text={part.text} />
        ),
      )}
      {!running && (
        <div className="-mt-1 -mb-2 -ml-1.5 flex h-7 items-center opacity-0 transition-opacity group-focus-within/answer:opacity-100 group-hover/answer:opacity-100 pointer-coarse:opacity-100">
          {text && <CopyButton text={text} label="Copy the answer" className="size-6.5" />}
          {onAgain && (
            <IconButton label="Answer again" icon={<RotateCw />} className="size-6.5" onClick={onAgain} />
          )}
        </div>
      )}
    </article>
  );
});

const Words = memo(function Words({ text }: { text: string }) {
  // Long answers are parsed when there is time, so that typing and scrolling stay light.
  const shown = useDeferredValue(text);
  return (
    <div className="text-base">
      <Suspense fallback={<div className="prose whitespace-pre-wrap">{text}</div>}>
        <Markdown text={shown} />
      </Suspense>
    </div>
  );
});
