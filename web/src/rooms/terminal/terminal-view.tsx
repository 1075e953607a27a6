import type { Session, Terminal } from "@sandbar/sdk";
import { clsx } from "clsx";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useDark } from "../../shell/theme.ts";
import { Button } from "../../ui/button.tsx";
import { copyText } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { toastError } from "../../ui/toast.tsx";
import { createXterm, type Xterm, xtermTheme } from "../../ui/xterm.ts";
import { holdLine, type LineState } from "./hold-line.ts";
import { isReport, Replay } from "./replay.ts";
import { exitWords } from "./tab-name.ts";
import { TerminalSearch } from "./terminal-search.tsx";

/** Keys that a phone's keyboard lacks. */
const KEYS: [label: string, sequence: string][] = [
  ["Esc", "\x1b"],
  ["Tab", "\t"],
  ["Ctrl C", "\x03"],
  ["Ctrl D", "\x04"],
  ["↑", "\x1b[A"],
  ["↓", "\x1b[B"],
  ["←", "\x1b[D"],
  ["→", "\x1b[C"],
];

/** One process's terminal. Stays while another tab is shown, so that nothing is drawn anew. */
export default function TerminalView({
  session,
  process,
  shown,
  onExit,
  onTitle,
  onLeave,
  onClose,
}: {
  session: Session;
  process: string;
  shown: boolean;
  onExit: () => void;
  onTitle: (title: string) => void;
  /** The keyboard leaves the terminal, which takes Tab for itself. */
  onLeave: () => void;
  onClose: () => void;
}) {
  const dark = useDark();
  const host = useRef<HTMLDivElement>(null);
  const line = useRef<Terminal | null>(null);
  const [xterm, setXterm] = useState<Xterm | null>(null);
  const [state, setState] = useState<LineState>({ kind: "connecting" });
  const [searching, setSearching] = useState(false);
  const tell = useRef({ onExit, onTitle, onLeave });
  tell.current = { onExit, onTitle, onLeave };

  useEffect(() => {
    const controller = new AbortController();
    let made: Xterm | null = null;
    // Cells are measured once, and must be measured in the font that is drawn.
    void document.fonts.load('13px "JetBrains Mono Variable"').finally(() => {
      if (controller.signal.aborted) return;
      made = createXterm(host.current!, {
        theme: xtermTheme(dark),
        cursorBlink: true,
        cursorInactiveStyle: "outline",
      });
      const { term, fit } = made;
      fit.fit();
      let replaying = 0;
      term.onData((data) => !(replaying > 0 && isReport(data)) && line.current?.write(data));
      term.onBinary((data) => line.current?.write(Uint8Array.from(data, (char) => char.charCodeAt(0))));
      term.onResize(({ cols, rows }) => line.current?.resize(cols, rows));
      term.onTitleChange((title) => tell.current.onTitle(title));
      term.attachCustomKeyEventHandler((event) => keep(event, term, setSearching, tell.current.onLeave));
      setXterm(made);
      void holdLine(
        session,
        process,
        {
          size: () => ({ cols: term.cols, rows: term.rows }),
          onLine: (terminal) => {
            line.current = terminal;
            const replay = new Replay(performance.now());
            term.reset();
            terminal.onData((data) => {
              if (!replay.takes(performance.now())) return term.write(data);
              replaying++;
              term.write(data, () => replaying--);
            });
          },
          onState: (next) => {
            if (next.kind !== "open") line.current = null;
            setState(next);
            if (next.kind === "exited" || next.kind === "failed") tell.current.onExit();
          },
        },
        controller.signal,
      );
    });
    return () => {
      controller.abort();
      made?.term.dispose();
    };
  }, [session.id, process]);

  useEffect(() => {
    if (xterm) xterm.term.options.theme = xtermTheme(dark);
  }, [xterm, dark]);

  useEffect(() => {
    if (!xterm || !shown) return;
    const fit = () => xterm.fit.fit();
    fit();
    xterm.term.focus();
    const observer = new ResizeObserver(() => requestAnimationFrame(fit));
    observer.observe(host.current!);
    return () => observer.disconnect();
  }, [xterm, shown]);

  const ended = state.kind === "exited" || state.kind === "failed";
  useEffect(() => {
    if (xterm) xterm.term.options.disableStdin = state.kind !== "open";
    if (xterm && ended) xterm.term.options.cursorBlink = false;
  }, [xterm, state.kind, ended]);

  return (
    <div className="relative flex h-full min-h-0 flex-col bg-term">
      {searching && xterm && (
        <TerminalSearch
          xterm={xterm}
          onClose={() => {
            setSearching(false);
            xterm.term.focus();
          }}
        />
      )}
      <div ref={host} data-terminal={process} className="min-h-0 flex-1 overflow-hidden py-2 pr-1 pl-3" />
      {state.kind === "open" && (
        <div className="hidden shrink-0 gap-1 overflow-x-auto border-t bg-surface p-1.5 pointer-coarse:flex">
          {KEYS.map(([label, sequence]) => (
            <Button
              key={label}
              size="sm"
              onClick={() => {
                line.current?.write(sequence);
                xterm?.term.focus();
              }}
            >
              {label}
            </Button>
          ))}
        </div>
      )}
      <Status state={state} onClose={onClose} />
    </div>
  );
}

/** Only what is not as usual is said. */
function Status({ state, onClose }: { state: LineState; onClose: () => void }) {
  if (state.kind === "open") return null;
  if (state.kind === "failed")
    return (
      <div className="shrink-0 border-t p-3">
        <ErrorNote
          error={state.error}
          action={
            <Button size="sm" onClick={onClose}>
              Close tab
            </Button>
          }
        />
      </div>
    );
  const words: Record<"connecting" | "cut" | "exited", ReactNode> = {
    connecting: "Connecting…",
    cut: "Connection cut, trying again. The program runs on.",
    exited: state.kind === "exited" && exitWords(state.exit),
  };
  return (
    <div
      role="status"
      className={clsx(
        "flex min-h-9 shrink-0 items-center gap-3 border-t px-3 py-1 text-sm",
        state.kind === "cut" ? "bg-warn-soft text-warn" : "bg-surface text-muted",
      )}
    >
      <span className="flex-1">{words[state.kind]}</span>
      {state.kind === "exited" && (
        <Button size="sm" onClick={onClose}>
          Close tab
        </Button>
      )}
    </div>
  );
}

/** Whether xterm handles the key. */
function keep(
  event: KeyboardEvent,
  term: Xterm["term"],
  search: (open: boolean) => void,
  leave: () => void,
): boolean {
  if (event.type !== "keydown" || !(event.ctrlKey || event.metaKey)) return true;
  const key = event.key.toLowerCase();
  const done = (): false => {
    event.preventDefault();
    event.stopPropagation();
    return false;
  };
  // Copies what is selected; without a selection Ctrl C is the program's.
  if (key === "c" && (event.shiftKey || term.hasSelection())) {
    if (term.hasSelection()) copyText(term.getSelection()).catch((error) => toastError(error, "Copy"));
    term.clearSelection();
    term.focus();
    return done();
  }
  // The browser pastes, and xterm takes what it pastes.
  if (key === "v") return false;
  // Full-screen programs page with Ctrl F.
  if (key === "f" && (event.shiftKey || event.metaKey || term.buffer.active.type === "normal")) {
    search(true);
    return done();
  }
  if (event.key === "ArrowUp" && event.shiftKey) {
    leave();
    return done();
  }
  return true;
}
