import { useQuery } from "@tanstack/react-query";
import {
  ArrowUp,
  CircleStop,
  Columns2,
  FileDown,
  FileUp,
  ListRestart,
  NotebookPen,
  Play,
  Plus,
  RotateCw,
  Type,
  X,
} from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { queryClient } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { onTenantEvent, useLiveInterval } from "../../api/live.ts";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Select } from "../../ui/select.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { isAlive, useSession } from "../session/use-session.ts";
import { type CellActions, CellView } from "./cell-view.tsx";
import { contextChoices } from "./context-choices.ts";
import { DraftView } from "./draft-view.tsx";
import { fromIpynb, toIpynb } from "./ipynb.ts";
import type { Draft } from "./layout.ts";
import { newDraft } from "./layout-storage.ts";
import { NewContextDialog } from "./new-context.tsx";
import { downloadNotebook, notebookCells } from "./notebook-file.ts";
import { NotebookStore } from "./notebook-store.ts";
import { useBottom } from "./use-bottom.ts";
import { Variables } from "./variables.tsx";

/** A session as a notebook: what has run in it, by people or agents, and a place to go on. */
export function Notebook() {
  const session = useSession();
  const { id } = session;
  const alive = isAlive(session);
  // The store keeps the session of its beginning: only its id matters.
  const store = useMemo(() => new NotebookStore(session), [id]);
  const { cells, open, loaded, earlier, error } = useSyncExternalStore(store.subscribe, store.snapshot);
  const interval = useLiveInterval();
  const contexts = useQuery({
    queryKey: keys.contexts(id),
    queryFn: () => session.contexts.list(),
    enabled: alive,
  });
  const choices = useMemo(
    () => contextChoices(contexts.data ?? [], session.info.runtime),
    [contexts.data, session.info.runtime],
  );
  const [context, setContext] = useState<string>(session.info.runtime);
  const [focus, setFocus] = useState<string | null>(null);
  const [panel, setPanel] = useState(() => window.matchMedia("(min-width: 1024px)").matches);
  const [dialog, setDialog] = useState<"context" | "restart" | "close" | null>(null);
  const [runningAll, setRunningAll] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const file = useRef<HTMLInputElement>(null);

  useEffect(() => {
    store.open();
    store.onEnded = ({ context: name }) => {
      void queryClient.invalidateQueries({ queryKey: keys.state(id, name) });
      void queryClient.invalidateQueries({ queryKey: keys.contexts(id) });
    };
    const stop = onTenantEvent((event) => {
      if (event.type === "execution") store.take(event.data);
      else if (event.type === "hello" || event.type === "reset") void store.refresh();
    });
    return () => {
      stop();
      store.close();
    };
  }, [store, id]);

  // Without events: look from time to time.
  useEffect(() => {
    if (interval === false) return;
    const timer = setInterval(() => void store.refresh(), interval);
    return () => clearInterval(timer);
  }, [store, interval]);

  // There is always a place to write, at the end.
  const drafts = store.layout.drafts;
  const last = cells.at(-1);
  useEffect(() => {
    if (!loaded || !alive || (last?.draft && last.draft.kind === "code")) return;
    store.setLayout({ ...store.layout, drafts: [...store.layout.drafts, newDraft({ context })] });
  }, [loaded, alive, last, store, context]);

  useBottom(scroller, loaded, cells);

  const changeDraft = useCallback(
    (draft: string, change: Partial<Draft>) =>
      store.setLayout({
        ...store.layout,
        drafts: store.layout.drafts.map((each) => (each.id === draft ? { ...each, ...change } : each)),
      }),
    [store],
  );

  const run = useCallback(
    async (cell: string, code: string, name: string): Promise<string | null> => {
      const choice = choices.find((each) => each.name === name);
      try {
        const options = choice && !choice.exists ? { language: choice.language } : { context: name };
        const execution = await store.run(cell, code, options);
        if (!choice?.exists) void queryClient.invalidateQueries({ queryKey: keys.contexts(id) });
        return execution;
      } catch (failure) {
        toastError(failure, "Run");
        return null;
      }
    },
    [store, choices, id],
  );

  const actions: CellActions = useMemo(
    () => ({
      run: (cell, code, name) => void run(cell, code, name),
      interrupt: (execution) => {
        session.interrupt(execution).catch((failure: unknown) => toastError(failure, "Interrupt"));
      },
      edit: (cell, code) => {
        const { [cell]: _, ...edits } = store.layout.edits;
        store.setLayout({ ...store.layout, edits: code === null ? edits : { ...edits, [cell]: code } });
      },
      hide: (cell) => store.setLayout({ ...store.layout, hidden: [...store.layout.hidden, cell] }),
      insertBelow: (cell, name) => {
        const draft = newDraft({ context: name, after: cell });
        store.setLayout({ ...store.layout, drafts: [draft, ...store.layout.drafts] });
        setFocus(draft.id);
      },
      whole: (execution) => store.loadWhole(execution),
    }),
    [run, session, store],
  );

  const runDraft = async (draft: Draft, stay: boolean) => {
    if (draft.code.trim() === "") return;
    const execution = await run(draft.id, draft.code, draft.context);
    if (execution === null) return;
    const rest = store.layout.drafts.filter(({ kind }) => kind === "code");
    const next = rest[0] ?? newDraft({ context: draft.context });
    if (rest.length === 0) store.setLayout({ ...store.layout, drafts: [...store.layout.drafts, next] });
    if (!stay || rest.length === 0) setFocus(next.id);
  };

  /** From the top; stops at the first that does not end well, as Jupyter does. */
  const runAll = async () => {
    setRunningAll(true);
    try {
      for (const cell of store.snapshot().cells) {
        const code = cell.draft ? cell.draft.code : (cell.edited ?? cell.entry.code ?? "");
        if (code.trim() === "" || cell.draft?.kind === "markdown") continue;
        const execution = await run(cell.id, code, cell.draft ? cell.draft.context : cell.entry.context);
        if (execution === null) return;
        const { status } = await store.ended(execution);
        if (status !== "ok") return toast("Stopped", `A cell ended as ${status}.`);
      }
    } finally {
      setRunningAll(false);
    }
  };

  const inContext = open.filter((entry) => entry.context === context);
  const running = inContext.find(({ status }) => status === "running") ?? inContext[0];
  const interrupt = () => {
    for (const entry of [...open].reverse()) actions.interrupt(entry.id);
  };

  const exportFile = () => {
    const languageOf = (name: string) =>
      choices.find((each) => each.name === name)?.language ?? session.info.runtime;
    downloadNotebook(session.key, toIpynb(notebookCells(cells, languageOf), session.info.runtime));
  };
  const importFile = async (chosen: File) => {
    try {
      const added = fromIpynb(await chosen.text()).map(({ kind, code, language }) =>
        newDraft({ kind, code, context: language ?? session.info.runtime }),
      );
      const kept = store.layout.drafts.filter(({ code }) => code.trim() !== "");
      store.setLayout({ ...store.layout, drafts: [...kept, ...added] });
      toast(`${added.length} cells from ${chosen.name}`, "Run all runs them.");
    } catch (failure) {
      toastError(failure, "Import");
    }
  };
  const addCell = (kind: Draft["kind"] = "code") => {
    const draft = newDraft({ context, kind });
    const before = store.layout.drafts;
    // Words go above the empty place at the end.
    const at = kind === "markdown" && before.at(-1)?.code === "" ? -1 : before.length;
    store.setLayout({ ...store.layout, drafts: before.toSpliced(at, 0, draft) });
    setFocus(draft.id);
  };
  const restart = async () => {
    await session.contexts.restart(context);
    void queryClient.invalidateQueries({ queryKey: keys.state(id, context) });
    toast(`${context} has a fresh kernel`);
  };
  const closeContext = async () => {
    await session.contexts.remove(context);
    setContext(session.info.runtime);
    await queryClient.invalidateQueries({ queryKey: keys.contexts(id) });
  };

  useCommands([
    {
      id: "nb.run",
      title: "Run cell",
      group: "Notebook",
      shortcut: "Shift+Enter",
      handledElsewhere: true,
      run: () => {},
    },
    {
      id: "nb.complete",
      title: "Complete",
      group: "Notebook",
      shortcut: "Ctrl+Space",
      handledElsewhere: true,
      run: () => {},
    },
    ...(alive
      ? [
          {
            id: "nb.all",
            title: "Run all cells",
            group: "Notebook",
            icon: <Play />,
            run: () => void runAll(),
          },
          {
            id: "nb.add",
            title: "New cell",
            group: "Notebook",
            icon: <Plus />,
            shortcut: "b",
            run: () => addCell(),
          },
          {
            id: "nb.words",
            title: "New Markdown cell",
            group: "Notebook",
            icon: <Type />,
            run: () => addCell("markdown"),
          },
          {
            id: "nb.interrupt",
            title: "Interrupt",
            group: "Notebook",
            icon: <CircleStop />,
            shortcut: "i i",
            run: interrupt,
          },
          {
            id: "nb.restart",
            title: `Restart ${context}`,
            group: "Notebook",
            icon: <ListRestart />,
            shortcut: "0 0",
            run: () => setDialog("restart"),
          },
          {
            id: "nb.context",
            title: "New context",
            group: "Notebook",
            icon: <Plus />,
            run: () => setDialog("context"),
          },
          {
            id: "nb.import",
            title: "Import .ipynb",
            group: "Notebook",
            icon: <FileUp />,
            run: () => file.current?.click(),
          },
        ]
      : []),
    { id: "nb.export", title: "Export as .ipynb", group: "Notebook", icon: <FileDown />, run: exportFile },
    {
      id: "nb.variables",
      title: "Variables",
      group: "Notebook",
      icon: <Columns2 />,
      shortcut: "v",
      run: () => setPanel((shown) => !shown),
    },
  ]);

  const queued = open.filter(({ status }) => status === "queued").length;
  const chosenContext = choices.find(({ name }) => name === context);
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 flex-1 flex-col">
        <div
          className="flex h-10 shrink-0 items-center gap-1 overflow-x-auto border-b px-3 sm:px-5"
          role="toolbar"
          aria-label="Notebook"
        >
          {alive && (
            <>
              <Select
                size="sm"
                label="Context"
                value={chosenContext ? context : (choices[0]?.name ?? context)}
                onChange={(next) => setContext(next)}
                options={choices.map(({ name, label, exists }) => ({
                  value: name,
                  label,
                  hint: exists ? undefined : "made by its first cell",
                }))}
              />
              <IconButton label="New context" icon={<Plus />} onClick={() => setDialog("context")} />
              <span className="mx-1 h-4 w-px bg-line" aria-hidden />
              <Button tone="quiet" size="sm" icon={<Play />} busy={runningAll} onClick={() => void runAll()}>
                Run all
              </Button>
              <Button
                tone="quiet"
                size="sm"
                icon={<CircleStop />}
                disabled={open.length === 0}
                onClick={interrupt}
              >
                Interrupt
              </Button>
              <Button
                tone="quiet"
                size="sm"
                icon={<RotateCw />}
                disabled={!chosenContext?.exists}
                onClick={() => setDialog("restart")}
              >
                Restart
              </Button>
            </>
          )}
          <span className="flex-1" />
          <span className="px-2 text-xs whitespace-nowrap text-faint tabular-nums" aria-live="polite">
            {open.length > 0 && (queued > 0 ? `${queued} queued` : "running")}
          </span>
          <Menu
            trigger={
              <Button tone="quiet" size="sm" icon={<NotebookPen />}>
                File
              </Button>
            }
            items={[
              {
                label: "Import .ipynb",
                icon: <FileUp />,
                disabled: !alive,
                onSelect: () => file.current?.click(),
              },
              { label: "Export as .ipynb", icon: <FileDown />, onSelect: exportFile },
              null,
              {
                label: "New Markdown cell",
                icon: <Type />,
                disabled: !alive,
                onSelect: () => addCell("markdown"),
              },
              {
                label: "Show hidden cells",
                disabled: store.layout.hidden.length === 0,
                onSelect: () => store.setLayout({ ...store.layout, hidden: [] }),
              },
              null,
              {
                label: `Close context ${context}`,
                icon: <X />,
                danger: true,
                disabled: !chosenContext?.exists,
                onSelect: () => setDialog("close"),
              },
            ]}
          />
          <IconButton
            label="Variables"
            shortcut="v"
            icon={<Columns2 />}
            aria-pressed={panel}
            className={panel ? "text-accent" : ""}
            onClick={() => setPanel(!panel)}
          />
          <input
            ref={file}
            type="file"
            accept=".ipynb,application/json"
            className="hidden"
            onChange={({ target }) => {
              const chosen = target.files?.[0];
              if (chosen) void importFile(chosen);
              target.value = "";
            }}
          />
        </div>
        <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-3 py-3 sm:px-5">
          <div className="mx-auto max-w-4xl space-y-3 pb-24">
            {error != null && <ErrorNote error={error} onRetry={() => void store.refresh()} />}
            {earlier && (
              <div className="text-center">
                <Button
                  size="sm"
                  tone="quiet"
                  icon={<ArrowUp />}
                  onClick={() =>
                    void store.loadEarlier().catch((failure: unknown) => toastError(failure, "Load"))
                  }
                >
                  Earlier cells
                </Button>
              </div>
            )}
            {!loaded && error == null && (
              <>
                <Skeleton className="h-24" />
                <Skeleton className="h-24" />
              </>
            )}
            {loaded && !alive && cells.length === 0 && (
              <p className="py-10 text-center text-muted">Nothing ran in this session.</p>
            )}
            {loaded &&
              cells.map((cell) =>
                cell.draft ? (
                  alive && (
                    <DraftView
                      key={cell.id}
                      draft={cell.draft}
                      contexts={choices}
                      session={session}
                      focus={focus === cell.id}
                      only={drafts.length === 1}
                      onChange={(change) => changeDraft(cell.id, change)}
                      onRun={({ stay }) =>
                        void runDraft(
                          store.layout.drafts.find((each) => each.id === cell.id) ?? cell.draft,
                          stay,
                        )
                      }
                      onRemove={() =>
                        store.setLayout({
                          ...store.layout,
                          drafts: store.layout.drafts.filter((each) => each.id !== cell.id),
                        })
                      }
                    />
                  )
                ) : (
                  <CellView
                    key={cell.id}
                    id={cell.id}
                    entry={cell.entry}
                    runs={cell.runs}
                    edited={cell.edited}
                    session={session}
                    alive={alive}
                    actions={actions}
                  />
                ),
              )}
          </div>
        </div>
      </div>
      {panel && alive && (
        <aside
          aria-label="Variables"
          className="fixed inset-y-0 right-0 z-30 flex w-72 flex-col border-l bg-bg shadow-pop lg:static lg:z-auto lg:w-64 lg:shadow-none xl:w-72"
        >
          <header className="flex h-10 shrink-0 items-center justify-between border-b pr-1.5 pl-3">
            <h2 className="font-medium">
              Variables <span className="font-normal text-faint">{context}</span>
            </h2>
            <IconButton label="Close" icon={<X />} className="lg:hidden" onClick={() => setPanel(false)} />
          </header>
          <Variables
            session={session}
            context={context}
            busy={running !== undefined}
            exists={chosenContext?.exists ?? false}
          />
        </aside>
      )}
      <NewContextDialog
        open={dialog === "context"}
        onOpenChange={(shown) => setDialog(shown ? "context" : null)}
        session={session}
        onMade={(made) => {
          setContext(made.name);
          void queryClient.invalidateQueries({ queryKey: keys.contexts(id) });
          const empty = store.layout.drafts.findLast(({ code, kind }) => kind === "code" && code === "");
          if (empty) changeDraft(empty.id, { context: made.name });
        }}
      />
      <ConfirmDialog
        open={dialog === "restart"}
        onOpenChange={(shown) => setDialog(shown ? "restart" : null)}
        title={`Restart ${context}?`}
        action="Restart"
        onConfirm={restart}
      >
        Its variables are lost and what runs in it ends. Files stay.
      </ConfirmDialog>
      <ConfirmDialog
        open={dialog === "close"}
        onOpenChange={(shown) => setDialog(shown ? "close" : null)}
        title={`Close ${context}?`}
        action="Close context"
        onConfirm={closeContext}
      >
        Its kernel ends, and its variables with it. What it ran stays in the notebook.
      </ConfirmDialog>
    </div>
  );
}
