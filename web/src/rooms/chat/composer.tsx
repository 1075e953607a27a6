import { clsx } from "clsx";
import { ArrowUp, CircleStop, FileText, Paperclip, X } from "lucide-react";
import { type ReactNode, type RefObject, useRef, useState } from "react";
import { formatBytes } from "../../ui/bytes.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Meter } from "../../ui/meter.tsx";
import { toastError } from "../../ui/toast.tsx";
import { chosenItems, type UploadItem } from "../files/upload-items.ts";
import { type Attachment, attachmentsOf } from "./attachments.ts";
import { takeDraft, writeDraft } from "./drafts.ts";

export interface ComposerHandle {
  focus(): void;
  add(items: readonly UploadItem[]): void;
}

export interface Sending {
  text: string;
  attachments: readonly Attachment[];
  signal: AbortSignal;
  onProgress: (id: string, sent: number) => void;
}

/** Where a question is written. Files go into the sandbox first, then the question that names them. */
export function Composer({
  draftKey,
  running,
  onSend,
  onStop,
  onApprove,
  onEditLast,
  handle,
  footer,
}: {
  /** What is typed here is found again under it. */
  draftKey: string;
  running: boolean;
  onSend: (sending: Sending) => Promise<void>;
  onStop?: () => void;
  /** What Ctrl+Enter says to a call that waits, when nothing is typed. */
  onApprove?: () => void;
  onEditLast?: () => void;
  handle: RefObject<ComposerHandle | null>;
  footer?: ReactNode;
}) {
  const [text, setText] = useState(() => takeDraft(draftKey));
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const [sent, setSent] = useState<Readonly<Record<string, number>>>({});
  const [sending, setSending] = useState<AbortController | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  handle.current = {
    focus: () => area.current?.focus(),
    add: (items) => setAttachments((before) => [...before, ...attachmentsOf(items)]),
  };

  const type = (value: string) => {
    setText(value);
    writeDraft(draftKey, value);
  };
  const empty = !text.trim() && attachments.length === 0;
  const send = async () => {
    if (empty || sending) return;
    const controller = new AbortController();
    const given = text;
    setSending(controller);
    // Taken at once, so that the next one can be written; given back when it fails.
    if (attachments.length === 0) type("");
    try {
      await onSend({
        text: given.trim(),
        attachments,
        signal: controller.signal,
        onProgress: (id, bytes) => setSent((before) => ({ ...before, [id]: bytes })),
      });
      if (attachments.length > 0) type("");
      setAttachments([]);
    } catch (error) {
      setText((now) => now || given);
      if (!controller.signal.aborted) toastError(error, "Send");
    } finally {
      setSending(null);
      setSent({});
      area.current?.focus();
    }
  };

  return (
    <form
      aria-label="Ask"
      className="rounded-xl border border-line-strong bg-surface transition-colors focus-within:border-accent"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {attachments.length > 0 && (
        <ul className="flex flex-wrap gap-2 px-3 pt-3" aria-label="Files to send">
          {attachments.map(({ id, name, file }) => (
            <li key={id} className="w-52 rounded-md border px-2 py-1.5 text-xs">
              <div className="flex items-center gap-1.5">
                <FileText className="size-3.5 shrink-0 text-faint" aria-hidden />
                <span className="min-w-0 flex-1 truncate" title={name}>
                  {name}
                </span>
                <span className="text-faint tabular-nums">{formatBytes(file.size)}</span>
                {!sending && (
                  <IconButton
                    label={`Leave out ${name}`}
                    icon={<X />}
                    className="-my-1 size-5"
                    onClick={() => setAttachments((before) => before.filter((each) => each.id !== id))}
                  />
                )}
              </div>
              {sending && (
                <Meter
                  calm
                  className="mt-1.5"
                  label={`Upload of ${name}`}
                  value={sent[id] ?? 0}
                  max={Math.max(1, file.size)}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        rows={1}
        aria-label="Question"
        placeholder={running ? "Ask the next thing: it waits for its turn" : "Ask about your data…"}
        value={text}
        className={clsx(
          "field-sizing-content block max-h-60 min-h-11 w-full resize-none bg-transparent px-3.5 pt-3 pb-1 text-base",
          "outline-none focus-visible:outline-none",
        )}
        onChange={({ target }) => type(target.value)}
        onPaste={(event) => {
          const { files } = event.clipboardData;
          if (files.length === 0) return;
          event.preventDefault();
          handle.current?.add(chosenItems(files));
        }}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && empty && onApprove) {
            event.preventDefault();
            onApprove();
          } else if (event.key === "Enter" && !event.shiftKey && !isTouch()) {
            event.preventDefault();
            void send();
          } else if (event.key === "Escape" && sending) sending.abort();
          else if (event.key === "Escape" && running) onStop?.();
          else if (event.key === "ArrowUp" && text === "" && onEditLast) {
            event.preventDefault();
            onEditLast();
          }
        }}
      />
      <div className="flex items-center gap-1 px-2 pb-2">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={({ target }) => {
            if (target.files) handle.current?.add(chosenItems(target.files));
            target.value = "";
          }}
        />
        <IconButton label="Add files" icon={<Paperclip />} onClick={() => picker.current?.click()} />
        <div className="flex min-w-0 flex-1 flex-wrap items-center gap-1.5 text-xs text-faint">{footer}</div>
        {running && onStop && (
          <IconButton label="Stop" shortcut="Escape" icon={<CircleStop />} onClick={onStop} />
        )}
        {sending && attachments.length > 0 && (
          <IconButton label="Cancel the upload" icon={<X />} onClick={() => sending.abort()} />
        )}
        <button
          type="submit"
          aria-label={running ? "Send: it waits for its turn" : "Send"}
          disabled={empty || sending !== null}
          className="inline-flex size-7 shrink-0 items-center justify-center rounded-md bg-accent-solid text-on-accent hover:bg-accent-solid-hover disabled:cursor-not-allowed disabled:opacity-40"
        >
          <ArrowUp className="size-4" aria-hidden />
        </button>
      </div>
    </form>
  );
}

/** There Enter makes a new line, as everywhere on a phone. */
const isTouch = () => matchMedia("(pointer: coarse)").matches;
