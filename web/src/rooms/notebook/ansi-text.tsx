import { clsx } from "clsx";
import { type CSSProperties, memo, useMemo, useState } from "react";
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
  return (
    <div>
      {left > 0 && (
        <button
          type="button"
          onClick={() => setAll(true)}
          className="mb-1 rounded text-xs text-accent underline-offset-2 hover:underline"
        >
          Show {left.toLocaleString()} earlier lines
        </button>
      )}
      <pre className={clsx("text-xs leading-5 break-words whitespace-pre-wrap", className)}>
        {pieces.map((piece, index) => (
          <span key={`${index + 1}`} style={styleOf(piece)}>
            {piece.text}
          </span>
        ))}
      </pre>
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
