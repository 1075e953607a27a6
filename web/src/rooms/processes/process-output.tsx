import type { Process, ProcessEvent } from "@sandbar/sdk";
import { useEffect, useRef, useState } from "react";
import { useDark } from "../../shell/theme.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { useVisible } from "../../ui/use-visible.ts";
import { createXterm, type Xterm, xtermTheme } from "../../ui/xterm.ts";

/** What a process prints, from the oldest that is kept, as it comes. */
export default function ProcessOutput({ process, onExit }: { process: Process; onExit: () => void }) {
  const dark = useDark();
  const host = useRef<HTMLDivElement>(null);
  const [xterm, setXterm] = useState<Xterm | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  const visible = useVisible();
  const tell = useRef(onExit);
  tell.current = onExit;
  const read = useRef<string | undefined>(undefined);

  useEffect(() => {
    let made: Xterm | null = null;
    let gone = false;
    const make = async () => {
      await document.fonts.load('13px "JetBrains Mono Variable"').catch(() => {});
      if (gone) return;
      made = createXterm(host.current!, {
        theme: xtermTheme(dark),
        disableStdin: true,
        cursorInactiveStyle: "none",
        convertEol: !process.info.pty,
      });
      read.current = undefined;
      setXterm(made);
    };
    void make();
    return () => {
      gone = true;
      setXterm(null);
      made?.term.dispose();
    };
  }, [process.id]);

  // While nobody looks nothing is read, and afterwards it is read on.
  useEffect(() => {
    if (!xterm || !visible) return;
    const controller = new AbortController();
    const { signal } = controller;
    const follow = async () => {
      for await (const event of process.events({ signal, lastEventId: read.current })) {
        read.current = event.id;
        if (event.type === "exit") tell.current();
        else xterm.term.write(shown(event));
      }
    };
    setError(null);
    follow().catch((failure) => !signal.aborted && setError(failure));
    return () => controller.abort();
  }, [xterm, visible, attempt]);

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

/** stderr is told by its colour, unless it brings colours of its own. */
function shown(event: Exclude<ProcessEvent, { type: "exit" }>): string {
  if (event.type === "dropped") return "\x1b[2m… older output is gone\x1b[22m\r\n";
  const plain = event.type === "stderr" && !event.text.includes("\x1b");
  return plain ? `\x1b[31m${event.text}\x1b[39m` : event.text;
}
