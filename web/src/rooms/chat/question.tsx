import { ChevronLeft, ChevronRight, FileText, Pencil } from "lucide-react";
import { memo, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { TextArea } from "../../ui/input.tsx";
import type { Turn } from "./branches.ts";
import type { Item } from "./conversation-items.ts";

export type QuestionItem = Extract<Item, { kind: "question" }>;

/** What was asked; it can be asked otherwise, and one can go back to what was asked before. */
export const Question = memo(function Question({
  item,
  turn,
  onEdit,
  onShow,
}: {
  item: QuestionItem;
  turn: Turn | null;
  /** Absent while it cannot be: something runs, or its place is not kept any more. */
  onEdit?: (item: QuestionItem, text: string) => void;
  onShow?: (checkpoint: string) => void;
}) {
  const [draft, setDraft] = useState<string | null>(null);
  const { text, files, images } = item;
  if (draft !== null && onEdit) {
    const send = () => {
      setDraft(null);
      onEdit(item, draft.trim());
    };
    return (
      <form
        aria-label="Edit the question"
        className="ml-auto w-full max-w-[85%] space-y-2"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <TextArea
          autoFocus
          aria-label="Question"
          value={draft}
          className="field-sizing-content max-h-80 text-base"
          onChange={({ target }) => setDraft(target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setDraft(null);
            else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              if (draft.trim()) send();
            }
          }}
        />
        <div className="flex justify-end gap-2">
          <Button tone="quiet" onClick={() => setDraft(null)}>
            Cancel
          </Button>
          <Button tone="primary" type="submit" disabled={!draft.trim()}>
            Ask instead
          </Button>
        </div>
      </form>
    );
  }
  return (
    <div className="group/question flex flex-col items-end" data-question={item.key}>
      <div className="max-w-[85%] rounded-xl bg-hover px-3.5 py-2 text-base">
        {text && <p className="break-words whitespace-pre-wrap">{text}</p>}
        {images.length > 0 && (
          <div className="mt-1.5 flex flex-wrap gap-2">
            {images.map((url) => (
              <img key={url} src={url} alt="Sent with the question" className="max-h-48 rounded-md" />
            ))}
          </div>
        )}
        {files.length > 0 && <Files files={files} />}
      </div>
      <div className="mt-0.5 -mb-3 flex h-7 items-center text-xs text-faint">
        <span className="flex opacity-0 transition-opacity group-focus-within/question:opacity-100 group-hover/question:opacity-100 pointer-coarse:opacity-100">
          <CopyButton text={text} label="Copy the question" className="size-6.5" />
          {onEdit && (
            <IconButton
              label="Edit the question"
              icon={<Pencil />}
              className="size-6.5"
              onClick={() => setDraft(text)}
            />
          )}
        </span>
        {turn && turn.siblings.length > 1 && <Siblings turn={turn} onShow={onShow} />}
      </div>
    </div>
  );
});

export function Files({ files }: { files: readonly string[] }) {
  return (
    <ul className="mt-1.5 flex flex-wrap gap-1.5" aria-label="Files">
      {files.map((path) => (
        <li
          key={path}
          title={path}
          className="inline-flex h-6 max-w-60 items-center gap-1.5 rounded border bg-surface px-2 text-xs"
        >
          <FileText className="size-3 shrink-0 text-faint" aria-hidden />
          <span className="truncate">{path.replace(/^\/session\//, "")}</span>
        </li>
      ))}
    </ul>
  );
}

function Siblings({ turn, onShow }: { turn: Turn; onShow?: (checkpoint: string) => void }) {
  const { siblings, index } = turn;
  const go = (to: number) => onShow?.(siblings[to]!);
  return (
    <span className="ml-1 inline-flex items-center" role="group" aria-label="Versions of this question">
      <IconButton
        label="Earlier version"
        icon={<ChevronLeft />}
        className="size-6.5"
        disabled={!onShow || index === 0}
        onClick={() => go(index - 1)}
      />
      <span className="tabular-nums" role="status">
        {index + 1}/{siblings.length}
      </span>
      <IconButton
        label="Later version"
        icon={<ChevronRight />}
        className="size-6.5"
        disabled={!onShow || index === siblings.length - 1}
        onClick={() => go(index + 1)}
      />
    </span>
  );
}
