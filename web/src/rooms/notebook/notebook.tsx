import {
  ArrowUp,
  CircleStop,
  Columns2,
  FileDown,
  FileUp,
  ListRestart,
  Play,
  Plus,
  Type,
  X,
} from "lucide-react";
import { queryClient } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useCommands } from "../../shell/commands.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useSession } from "../session/use-session.ts";
import { CellView } from "./cell-view.tsx";
import { DraftView } from "./draft-view.tsx";
import { NewContextDialog } from "./new-context.tsx";
import { Toolbar } from "./toolbar.tsx";
import { useNotebook } from "./use-notebook.ts";
import { Variables } from "./variables.tsx";

/** A session as a notebook: what has run in it, by people or agents, and a place to go on. */
export function Notebook() {
  const session = useSession();
  const { id } = session;
  const {
    alive,
    store,
    cells,
    open,
    loaded,
    earlier,
    error,
    choices,
    context,
    setContext,
    focus,
    panel,
    setPanel,
    dialog,
    setDialog,
    runningAll,
    scroller,
    file,
    drafts,
    changeDraft,
    actions,
    runDraft,
    runAll,
    running,
    interrupt,
    exportFile,
    importFile,
    addCell,
    restart,
    closeContext,
  } = useNotebook(session);

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

  const chosenContext = choices.find(({ name }) => name === context);
  return (
    <div className="flex h-full min-h-0">
      <div className="flex min-w-0 flex-1 flex-col">
        <Toolbar
          alive={alive}
          choices={choices}
          context={chosenContext ? context : (choices[0]?.name ?? context)}
          contextExists={chosenContext?.exists ?? false}
          onContext={setContext}
          open={open.length}
          queued={open.filter(({ status }) => status === "queued").length}
          runningAll={runningAll}
          panel={panel}
          hidden={store.layout.hidden.length}
          actions={{
            runAll: () => void runAll(),
            interrupt,
            ask: setDialog,
            exportFile,
            importFile: () => file.current?.click(),
            addWords: () => addCell("markdown"),
            showHidden: () => store.setLayout({ ...store.layout, hidden: [] }),
            togglePanel: () => setPanel(!panel),
          }}
        />
        <input
          ref={file}
          type="file"
          accept=".ipynb,application/json"
          className="hidden"
          aria-label="Notebook file"
          onChange={({ target }) => {
            const chosen = target.files?.[0];
            if (chosen) void importFile(chosen);
            target.value = "";
          }}
        />
        <div ref={scroller} className="min-h-0 flex-1 overflow-y-auto px-3 py-3 sm:px-6">
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
            language={chosenContext?.language ?? session.info.runtime}
            busy={!loaded || running !== undefined}
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
