import {
  CircleStop,
  Columns2,
  Eye,
  FileDown,
  FileUp,
  NotebookPen,
  Play,
  Plus,
  RotateCw,
  Type,
  X,
} from "lucide-react";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Select } from "../../ui/select.tsx";
import type { ContextChoice } from "./context-choices.ts";

export interface ToolbarActions {
  runAll: () => void;
  interrupt: () => void;
  ask: (dialog: "context" | "restart" | "close") => void;
  exportFile: () => void;
  importFile: () => void;
  addWords: () => void;
  showHidden: () => void;
  togglePanel: () => void;
}

/** What can be done with the notebook as a whole, and how many runs wait. */
export function Toolbar({
  alive,
  choices,
  context,
  contextExists,
  onContext,
  open,
  queued,
  runningAll,
  panel,
  hidden,
  actions,
}: {
  alive: boolean;
  choices: readonly ContextChoice[];
  context: string;
  contextExists: boolean;
  onContext: (context: string) => void;
  open: number;
  queued: number;
  runningAll: boolean;
  panel: boolean;
  hidden: number;
  actions: ToolbarActions;
}) {
  return (
    <div
      role="toolbar"
      aria-label="Notebook"
      className="flex h-10 shrink-0 items-center gap-1 overflow-x-auto border-b px-3 [scrollbar-width:none] sm:px-6"
    >
      {alive && (
        <>
          <Select
            size="sm"
            label="Context"
            value={context}
            onChange={onContext}
            options={choices.map(({ name, label, exists }) => ({
              value: name,
              label,
              hint: exists ? undefined : "made by its first cell",
            }))}
          />
          <IconButton label="New context" icon={<Plus />} onClick={() => actions.ask("context")} />
          <span className="mx-1 h-4 w-px shrink-0 bg-line" aria-hidden />
          <Button tone="quiet" size="sm" icon={<Play />} busy={runningAll} onClick={actions.runAll}>
            <span className="max-sm:sr-only">Run all</span>
          </Button>
          <Button
            tone="quiet"
            size="sm"
            icon={<CircleStop />}
            disabled={open === 0}
            onClick={actions.interrupt}
          >
            <span className="max-sm:sr-only">Interrupt</span>
          </Button>
          <Button
            tone="quiet"
            size="sm"
            icon={<RotateCw />}
            disabled={!contextExists}
            onClick={() => actions.ask("restart")}
          >
            <span className="max-sm:sr-only">Restart</span>
          </Button>
        </>
      )}
      <span className="flex-1" />
      <span className="px-2 text-xs whitespace-nowrap text-muted tabular-nums" aria-live="polite">
        {open > 0 && (queued > 0 ? `${queued} queued` : "running")}
      </span>
      <Menu
        trigger={
          <Button tone="quiet" size="sm" icon={<NotebookPen />}>
            <span className="max-sm:sr-only">File</span>
          </Button>
        }
        items={[
          { label: "Import .ipynb", icon: <FileUp />, disabled: !alive, onSelect: actions.importFile },
          { label: "Export as .ipynb", icon: <FileDown />, onSelect: actions.exportFile },
          null,
          { label: "New Markdown cell", icon: <Type />, disabled: !alive, onSelect: actions.addWords },
          { label: "Show hidden cells", icon: <Eye />, disabled: hidden === 0, onSelect: actions.showHidden },
          null,
          {
            label: `Close context ${context}`,
            icon: <X />,
            danger: true,
            disabled: !contextExists,
            onSelect: () => actions.ask("close"),
          },
        ]}
      />
      {alive && (
        <IconButton
          label="Variables"
          shortcut="v"
          icon={<Columns2 />}
          aria-pressed={panel}
          className={panel ? "text-accent" : ""}
          onClick={actions.togglePanel}
        />
      )}
    </div>
  );
}
