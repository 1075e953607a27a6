import { clsx } from "clsx";
import { ChevronRight } from "lucide-react";
import { memo, useState } from "react";
import { languageName } from "../../ui/language-name.ts";
import { StateDot } from "../../ui/state-dot.tsx";
import { preciseDuration } from "../../ui/time.tsx";
import { CodeView } from "../notebook/code-area.tsx";
import { JsonTree } from "../notebook/json-tree.tsx";
import { Outputs } from "../notebook/outputs.tsx";
import { ArtifactCard } from "./artifact-card.tsx";
import type { Call } from "./conversation-items.ts";

/** Lines of code that are shown without being asked for. */
const LINES = 18;

/** One call of a tool: the code, and what comes of it as it comes. */
export const CallView = memo(function CallView({ call, running }: { call: Call; running: boolean }) {
  const { entry, code, language, tool, args } = call;
  const state = stateOf(call, running);
  const title = code === null ? toolName(tool) : languageName(language);
  return (
    <section
      aria-label={`${title}, ${state.label}`}
      data-call={call.id}
      className="overflow-hidden rounded-lg border bg-surface"
    >
      <header className="flex h-8 items-center gap-2 border-b border-line/60 px-3 text-xs text-faint">
        <StateDot state={state.dot} label={state.label} className="tabular-nums" />
        <span>{title}</span>
      </header>
      {code === null ? (
        Object.keys(args).length > 0 && (
          <div className="px-3 py-2 font-mono text-xs leading-5">
            <JsonTree value={args} />
          </div>
        )
      ) : (
        <Code code={code} language={language} whole={call.state === "writing"} />
      )}
      {entry.outputs.length > 0 && (
        <div className={clsx("bg-sunken/50", "border-t border-line/60")}>
          <Outputs entry={{ ...entry, artifacts: [] }} onWhole={async () => {}} />
        </div>
      )}
      {entry.artifacts.length > 0 && (
        <div className="space-y-2 border-t border-line/60 bg-sunken/50 p-2">
          {entry.artifacts.map((artifact) => (
            <ArtifactCard key={artifact.id} artifact={artifact} />
          ))}
        </div>
      )}
    </section>
  );
});

function Code({ code, language, whole }: { code: string; language: string; whole: boolean }) {
  const [open, setOpen] = useState(false);
  const lines = code.trimEnd().split("\n");
  const folds = !whole && lines.length > LINES + 4;
  const shown = folds && !open ? lines.slice(0, LINES).join("\n") : code.trimEnd();
  return (
    <>
      <CodeView code={shown} language={language} />
      {folds && (
        <button
          type="button"
          onClick={() => setOpen(!open)}
          aria-expanded={open}
          className="flex w-full items-center gap-1 border-t border-line/60 px-3 py-1 text-xs text-accent hover:bg-hover"
        >
          <ChevronRight className={clsx("size-3.5 transition-transform", open && "rotate-90")} aria-hidden />
          {open ? "Show less" : `Show all ${lines.length} lines`}
        </button>
      )}
    </>
  );
}

const NAMES: Record<string, string> = {
  import_files: "Files brought in",
  export_files: "Files kept",
  list_datasets: "Datasets",
  select_dataset: "Dataset",
  list_files: "Files",
  read_file: "File",
};

const toolName = (tool: string) => NAMES[tool] ?? (tool.replaceAll("_", " ") || "Tool");

function stateOf({ state, entry, failed }: Call, running: boolean): { dot: string; label: string } {
  if (state === "writing") return running ? { dot: "creating", label: "writing" } : STOPPED;
  if (state === "open") return running ? { dot: "running", label: "running" } : STOPPED;
  const took = entry.durationMs === null ? "" : preciseDuration(entry.durationMs);
  const status = failed && entry.status === "ok" ? "error" : entry.status;
  return { dot: status, label: [status === "ok" ? "" : status, took].filter(Boolean).join(" · ") || "done" };
}

const STOPPED = { dot: "interrupted", label: "stopped" };
