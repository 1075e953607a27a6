/** @module The notebook's doings: what its view shows and what its buttons do. */
import type { Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { queryClient } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { onTenantEvent, useLiveInterval } from "../../api/live.ts";
import { toast, toastError } from "../../ui/toast.tsx";
import { useVisible } from "../../ui/use-visible.ts";
import { isAlive } from "../session/use-session.ts";
import type { CellActions } from "./cell-view.tsx";
import { contextChoices } from "./context-choices.ts";
import { fromIpynb, toIpynb } from "./ipynb.ts";
import type { Draft } from "./layout.ts";
import { newDraft } from "./layout-storage.ts";
import { downloadNotebook, notebookCells } from "./notebook-file.ts";
import { NotebookStore } from "./notebook-store.ts";
import { useBottom } from "./use-bottom.ts";

const CALM_MS = 400;

export function useNotebook(session: Session) {
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
    () => contextChoices(contexts.data ?? [], session.info),
    [contexts.data, session.info],
  );
  const [context, setContext] = useState<string>(session.info.runtime);
  const [focus, setFocus] = useState<string | null>(null);
  const [panel, setPanel] = useState(() => window.matchMedia("(min-width: 1024px)").matches);
  const [dialog, setDialog] = useState<"context" | "restart" | "close" | null>(null);
  const [runningAll, setRunningAll] = useState(false);
  const scroller = useRef<HTMLDivElement>(null);
  const file = useRef<HTMLInputElement>(null);
  const atEnd = useBottom(scroller);

  useEffect(() => {
    store.open();
    store.atEnd = () => atEnd.current;
    // An agent runs one after the other; looking at variables in between would be in its way.
    let calm: ReturnType<typeof setTimeout> | undefined;
    store.onEnded = () => {
      clearTimeout(calm);
      calm = setTimeout(() => {
        // A kernel that is already at the next cell cannot be asked; that one's end asks again.
        if (store.snapshot().open.length === 0)
          void queryClient.invalidateQueries({ queryKey: keys.states(id) });
        void queryClient.invalidateQueries({ queryKey: keys.contexts(id) });
      }, CALM_MS);
    };
    const stop = onTenantEvent((event) => {
      if (event.type === "execution") store.take(event.data);
      else if (event.type === "hello" || event.type === "reset") void store.refresh();
    });
    return () => {
      clearTimeout(calm);
      stop();
      store.close();
    };
  }, [store, id, atEnd]);

  const visible = useVisible();
  useEffect(() => {
    store.watched = visible;
  }, [store, visible]);

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
      setFocus(added.find(({ kind }) => kind === "code")?.id ?? null);
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

  return {
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
  };
}
