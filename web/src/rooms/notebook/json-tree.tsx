import { ChevronRight } from "lucide-react";
import { useState } from "react";

const FIRST = 100;

/** A JSON value that opens where one looks. */
export function JsonTree({ value, name, depth = 0 }: { value: unknown; name?: string; depth?: number }) {
  const [open, setOpen] = useState(depth < 1);
  const [count, setCount] = useState(FIRST);
  const label = name !== undefined && <span className="text-muted">{name}: </span>;
  if (typeof value !== "object" || value === null)
    return (
      <div className="pl-4">
        {label}
        <span className={typeof value === "string" ? "text-(--syn-string)" : "text-(--syn-number)"}>
          {JSON.stringify(value)}
        </span>
      </div>
    );
  const entries = Object.entries(value);
  const list = Array.isArray(value);
  return (
    <div>
      <button
        type="button"
        onClick={() => setOpen(!open)}
        aria-expanded={open}
        className="flex items-center rounded text-left"
      >
        <ChevronRight className={`size-3.5 shrink-0 text-faint ${open ? "rotate-90" : ""}`} aria-hidden />
        {label}
        <span className="ml-0.5 text-faint">{list ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </button>
      {open && (
        <div className="ml-1.5 border-l pl-2">
          {entries.slice(0, count).map(([key, each]) => (
            <JsonTree key={key} name={key} value={each} depth={depth + 1} />
          ))}
          {entries.length > count && (
            <button
              type="button"
              onClick={() => setCount(count * 10)}
              className="pl-4 text-xs text-accent hover:underline"
            >
              {(entries.length - count).toLocaleString()} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}
