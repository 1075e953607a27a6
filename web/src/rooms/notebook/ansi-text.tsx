import { clsx } from "clsx";
import { type CSSProperties, memo, useLayoutEffect, useMemo, useRef, useState } from "react";
import { overwritten, type Piece, parseAnsi } from "./ansi.ts";

/** Lines that are drawn at first: the end, which tells most. */
const LINES = 400;

/** Output of a terminal, with its colours. Long ones show their end, and all of it when asked. */
export const AnsiText = memo(function AnsiText({ text, className }: { text: string; className?: string }) {
  const [all, setAll] = useState(false);
  const { shown, left } = useMemo(() => {
    const lines = overwritten(text).replace(/\n$/, "").split("\n");
    const over = all ? 0 : Math.max(0, lines.length - LINES);
    return { shown: over > 0 ? lines.slice(over).join("\n") : lines.join("\n"), left: over };
  }, [text, all]);
  const pieces = useMemo(() => parseAnsi(shown), [shown]);
  const [tall, setTall] = useState(false);
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLPreElement>(null);
  const atEnd = useRef(true);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || open) return;
    setTall(element.scrollHeight > element.clientHeight + 4);
    if (atEnd.current) element.scrollTop = element.scrollHeight;
  }, [shown, open]);
  return (
    <div className="relative">
      {left > 0 && (
        <button
          type="button"
          onClick={() => setAll(true)}
          className="mb-1 rounded text-xs text-accent underline-offset-2 hover:underline"
        >
          Show {left.toLocaleString()} earlier lines
        </button>
      )}
      <pre
        ref={box}
        {...(tall && !open ? { tabIndex: 0 } : {})}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          atEnd.current = scrollHeight - scrollTop - clientHeight < 8;
        }}
        className={clsx(
          "text-xs leading-5 break-words whitespace-pre-wrap",
          !open && "max-h-110 overflow-y-auto",
          className,
        )}
      >
        {pieces.map((piece, index) => (
          <span key={`${index + 1}`} style={styleOf(piece)}>
            {piece.text}
          </span>
        ))}
      </pre>
      {tall && (
        <button
          type="button"
          onClick={() => setOpen(!open)}
          className="mt-1 rounded text-xs text-accent underline-offset-2 hover:underline"
        >
          {open ? "Show less" : "Show in full height"}
        </button>
      )}
    </div>
  );
});

function styleOf({ fg, bg, bold, dim, italic, underline, strike }: Piece): CSSProperties | undefined {
  if (!(fg || bg || bold || dim || italic || underline || strike)) return undefined;
  return {
    color: colour(fg, "--bg"),
    backgroundColor: colour(bg, "--text"),
    fontWeight: bold ? 600 : undefined,
    opacity: dim ? 0.75 : undefined,
    fontStyle: italic ? "italic" : undefined,
    textDecoration:
      [underline && "underline", strike && "line-through"].filter(Boolean).join(" ") || undefined,
  };
}

function colour(name: string | undefined, inverse: string): string | undefined {
  if (name === undefined) return undefined;
  if (name === "inverse") return `var(${inverse})`;
  return name.startsWith("#") ? name : `var(--ansi-${name.replace("bright-", "")})`;
}
