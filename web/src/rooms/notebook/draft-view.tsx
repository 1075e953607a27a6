import type { Session } from "@sandbar/sdk";
import { Play, Trash2 } from "lucide-react";
import { lazy, memo, Suspense, useState } from "react";
import { IconButton } from "../../ui/icon-button.tsx";
import { Select } from "../../ui/select.tsx";
import { CodeArea } from "./code-area.tsx";
import type { ContextChoice } from "./context-choices.ts";
import type { Draft } from "./layout.ts";

const Markdown = lazy(() => import("./markdown.tsx"));

/** A cell that has not run. */
export const DraftView = memo(function DraftView({
  draft,
  contexts,
  session,
  focus,
  only,
  onChange,
  onRun,
  onRemove,
}: {
  draft: Draft;
  contexts: readonly ContextChoice[];
  session: Session;
  focus: boolean;
  /** The last draft stays: a notebook always has a place to write. */
  only: boolean;
  onChange: (change: Partial<Draft>) => void;
  onRun: (options: { stay: boolean }) => void;
  onRemove: () => void;
}) {
  const [editing, setEditing] = useState(draft.code === "");
  const chosen = contexts.find(({ name }) => name === draft.context);
  if (draft.kind === "markdown" && !editing)
    return (
      <section
        aria-label="Words"
        data-cell={draft.id}
        className="group relative px-3 py-1"
        onDoubleClick={() => setEditing(true)}
      >
        <Suspense fallback={<pre className="whitespace-pre-wrap">{draft.code}</pre>}>
          <Markdown text={draft.code} />
        </Suspense>
        <span className="absolute top-0 right-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100">
          <IconButton label="Remove" icon={<Trash2 />} onClick={onRemove} />
        </span>
      </section>
    );
  return (
    <section
      aria-label="New cell"
      data-cell={draft.id}
      className="rounded-lg border border-line-strong bg-surface focus-within:border-accent focus-within:ring-2 focus-within:ring-accent/15"
    >
      <header className="flex h-8 items-center gap-1 pr-1 pl-1.5 text-xs">
        {draft.kind === "markdown" ? (
          <span className="px-2 text-faint">Markdown</span>
        ) : (
          <Select
            size="sm"
            label="Context of the cell"
            value={draft.context}
            onChange={(context) => onChange({ context })}
            options={contexts.map(({ name, label }) => ({ value: name, label }))}
            className="border-transparent"
          />
        )}
        <span className="flex-1" />
        {!only && (
          <IconButton label="Remove cell" icon={<Trash2 />} className="size-6.5" onClick={onRemove} />
        )}
        <IconButton
          label={draft.kind === "markdown" ? "Show" : "Run"}
          shortcut="Shift+Enter"
          icon={<Play className="text-accent" />}
          className="size-6.5"
          disabled={draft.code.trim() === ""}
          onClick={() => (draft.kind === "markdown" ? setEditing(false) : onRun({ stay: true }))}
        />
      </header>
      <CodeArea
        focus={focus}
        code={draft.code}
        language={draft.kind === "markdown" ? "markdown" : (chosen?.language ?? draft.context)}
        label="Code of a new cell"
        hint={draft.kind === "markdown" ? "Words" : "Shift-Enter runs"}
        session={session}
        context={chosen?.exists ? draft.context : undefined}
        onChange={(code) => onChange({ code })}
        onRun={(options) => (draft.kind === "markdown" ? setEditing(false) : onRun(options))}
      />
    </section>
  );
});
