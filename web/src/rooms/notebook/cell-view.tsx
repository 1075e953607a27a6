import type { Session } from "@sandbar/sdk";
import { clsx } from "clsx";
import { ArrowDownToLine, CircleStop, Copy, Ellipsis, EyeOff, Play, RotateCw } from "lucide-react";
import { memo, useState } from "react";
import { copyText } from "../../ui/copy-button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Menu } from "../../ui/menu.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { preciseDuration, Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useNow } from "../../ui/use-now.ts";
import { CodeArea, CodeView } from "./code-area.tsx";
import { type Entry, isOpen } from "./entry.ts";
import { Outputs } from "./outputs.tsx";

export interface CellActions {
  run: (cell: string, code: string, context: string, options: { stay: boolean }) => void;
  interrupt: (execution: string) => void;
  edit: (cell: string, code: string | null) => void;
  hide: (cell: string) => void;
  insertBelow: (cell: string, context: string) => void;
  whole: (execution: string) => Promise<void>;
}

/** A cell that has run, or runs: by whomever. Its code can be changed and run again in its place. */
export const CellView = memo(function CellView({
  id,
  entry,
  runs,
  edited,
  session,
  alive,
  actions,
}: {
  id: string;
  entry: Entry;
  runs: number;
  edited: string | null;
  session: Session;
  alive: boolean;
  actions: CellActions;
}) {
  const [editing, setEditing] = useState(false);
  const open = isOpen(entry);
  const code = edited ?? entry.code ?? "";
  const canEdit = alive && entry.code !== null && !entry.partial;
  const run = (stay: boolean, typed = code) => {
    setEditing(false);
    actions.run(id, typed, entry.context, { stay });
  };
  return (
    <section
      aria-label={`Cell, ${entry.status}`}
      data-cell={id}
      className="group relative rounded-lg border bg-surface [contain-intrinsic-size:auto_7rem] [content-visibility:auto] focus-within:border-line-strong"
    >
      <div
        aria-hidden
        className={clsx(
          "absolute inset-y-2 -left-px w-0.5 rounded-full",
          open
            ? "bg-accent"
            : entry.status === "ok"
              ? "bg-transparent"
              : entry.status === "interrupted" || entry.status === "timeout"
                ? "bg-warn"
                : "bg-danger",
        )}
      />
      <header className="flex h-8 items-center gap-2 border-b border-line/60 pr-1 pl-3 text-xs text-faint">
        <Status entry={entry} />
        <span>
          {entry.context === entry.language
            ? languageName(entry.language)
            : `${entry.context} · ${languageName(entry.language)}`}
        </span>
        {runs > 1 && <span title="How often this cell has run">×{runs}</span>}
        {edited !== null && <span className="text-warn">edited</span>}
        <span className="flex-1" />
        <span className="hidden sm:inline">
          <Time at={entry.queuedAt} />
        </span>
        <span className="flex opacity-60 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100">
          {open ? (
            <IconButton
              label="Interrupt"
              icon={<CircleStop />}
              className="size-6.5"
              onClick={() => actions.interrupt(entry.id)}
            />
          ) : (
            canEdit && (
              <IconButton
                label={edited === null ? "Run again" : "Run"}
                shortcut="Shift+Enter"
                icon={edited === null ? <RotateCw /> : <Play />}
                className="size-6.5"
                onClick={() => run(true)}
              />
            )
          )}
          <Menu
            trigger={<IconButton label="More" icon={<Ellipsis />} className="size-6.5" />}
            items={[
              {
                label: "Copy code",
                icon: <Copy />,
                onSelect: () => {
                  copyText(code).then(
                    () => toast("Copied"),
                    (error: unknown) => toastError(error, "Copy"),
                  );
                },
              },
              {
                label: "Cell below",
                icon: <ArrowDownToLine />,
                disabled: !alive,
                onSelect: () => actions.insertBelow(id, entry.context),
              },
              ...(edited !== null
                ? [{ label: "Undo edits", icon: <RotateCw />, onSelect: () => actions.edit(id, null) }]
                : []),
              null,
              { label: "Hide cell", icon: <EyeOff />, disabled: open, onSelect: () => actions.hide(id) },
            ]}
          />
        </span>
      </header>
      {editing && canEdit ? (
        <CodeArea
          focus
          code={code}
          language={entry.language}
          label="Code of the cell"
          session={session}
          context={entry.context}
          onChange={(next) => actions.edit(id, next === entry.code ? null : next)}
          onRun={({ stay, code: typed }) => run(stay, typed)}
        />
      ) : entry.code === null ? (
        <p className="px-3 py-2 text-xs text-faint">The code was too long to be kept.</p>
      ) : (
        // biome-ignore lint/a11y/noStaticElementInteractions: what it is depends on whether it can be edited
        <div
          {...(canEdit
            ? {
                role: "textbox",
                tabIndex: 0,
                "aria-readonly": true,
                "aria-multiline": true,
                "aria-label": "Code of the cell. Enter edits it.",
              }
            : {})}
          className={clsx("rounded-b-lg -outline-offset-2", canEdit && "cursor-text")}
          onClick={() => canEdit && !window.getSelection()?.toString() && setEditing(true)}
          onKeyDown={(event) => {
            if (!canEdit || event.key !== "Enter" || event.target !== event.currentTarget) return;
            event.preventDefault();
            if (event.shiftKey || event.ctrlKey || event.metaKey) run(!event.shiftKey);
            else setEditing(true);
          }}
        >
          <CodeView code={entry.partial ? `${code} …` : code} language={entry.language} />
        </div>
      )}
      {(entry.outputs.length > 0 || !open) && (
        <div
          className={clsx("rounded-b-lg bg-sunken/50", entry.outputs.length > 0 && "border-t border-line/60")}
        >
          <Outputs entry={entry} onWhole={() => actions.whole(entry.id)} />
        </div>
      )}
    </section>
  );
});

function Status({ entry }: { entry: Entry }) {
  if (entry.status === "running") return <Running since={entry.startedAt ?? entry.queuedAt} />;
  const took = entry.durationMs === null ? null : preciseDuration(entry.durationMs);
  return (
    <StateDot
      state={entry.status}
      label={
        entry.status === "ok"
          ? (took ?? "ok")
          : [
              entry.status,
              entry.exitCode ? `exit code ${entry.exitCode}` : null,
              entry.status === "queued" ? null : took,
            ]
              .filter((part) => part !== null)
              .join(" · ")
      }
      className="tabular-nums"
    />
  );
}

function Running({ since }: { since: string }) {
  const now = useNow();
  const seconds = Math.max(0, Math.floor((now - Date.parse(since)) / 1000));
  return (
    <StateDot
      state="running"
      label={seconds < 1 ? "running" : `running · ${preciseDuration(seconds * 1000)}`}
      className="tabular-nums text-accent"
    />
  );
}
