import type { Process } from "@sandbar/sdk";
import { useEffect, useRef, useState } from "react";
import { useDark } from "../../shell/theme.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { createXterm, type Xterm, xtermTheme } from "../../ui/xterm.ts";
import { portsIn } from "./found-ports.ts";

/** Enough for a line that names a port and was cut in two. */
const TAIL_CHARS = 300;

/** What a process prints, from the oldest that is kept, as it comes. */
export default function ProcessOutput({
  process,
  onPorts,
  onExit,
}: {
  process: Process;
  /** Ports that it says it listens on. */
  onPorts: (ports: number[]) => void;
  onExit: () => void;
}) {
  const dark = useDark();
  const host = useRef<HTMLDivElement>(null);
  const [xterm, setXterm] = useState<Xterm | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const tell = useRef({ onPorts, onExit });
  tell.current = { onPorts, onExit };

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let made: Xterm | null = null;
    const follow = async () => {
      await document.fonts.load('13px "JetBrains Mono Variable"').catch(() => {});
      if (signal.aborted) return;
      made = createXterm(host.current!, {
        theme: xtermTheme(dark),
        disableStdin: true,
        cursorInactiveStyle: "none",
        convertEol: !process.info.pty,
      });
      setXterm(made);
      const { term } = made;
      let tail = "";
      for await (const event of process.events({ signal })) {
        if (event.type === "exit") {
          tell.current.onExit();
          continue;
        }
        if (event.type === "dropped") {
          term.write(`\x1b[2m… older output is gone\x1b[22m\r\n`);
          continue;
        }
        // stderr is told by its colour, unless it brings colours of its own.
        const plain = event.type === "stderr" && !event.text.includes("\x1b");
        term.write(plain ? `\x1b[31m${event.text}\x1b[39m` : event.text);
        tail += event.text;
        const ports = portsIn(tail);
        if (ports.length > 0) tell.current.onPorts(ports);
        tail = tail.slice(-TAIL_CHARS);
      }
    };
    setError(null);
    follow().catch((failure) => !signal.aborted && setError(failure));
    return () => {
      controller.abort();
      made?.term.dispose();
    };
  }, [process.id, attempt]);

  useEffect(() => {
    if (!xterm) return;
    xterm.term.options.theme = xtermTheme(dark);
  }, [xterm, dark]);

  useEffect(() => {
    if (!xterm) return;
    const fit = () => xterm.fit.fit();
    fit();
    const observer = new ResizeObserver(() => requestAnimationFrame(fit));
    observer.observe(host.current!);
    return () => observer.disconnect();
  }, [xterm]);

  return (
    <div className="flex h-full min-h-0 flex-col bg-term">
      {error != null && (
        <ErrorNote error={error} onRetry={() => setAttempt((count) => count + 1)} className="m-3" />
      )}
      <div ref={host} data-output={process.id} className="min-h-0 flex-1 overflow-hidden py-2 pr-1 pl-4" />
    </div>
  );
}
