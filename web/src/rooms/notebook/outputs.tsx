import { clsx } from "clsx";
import { Download, Scissors, TriangleAlert } from "lucide-react";
import { memo, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { toastError } from "../../ui/toast.tsx";
import { AnsiText } from "./ansi-text.tsx";
import type { Entry, Output } from "./entry.ts";
import { RichOutput } from "./rich-output.tsx";

/** Everything that came of an execution. */
export const Outputs = memo(function Outputs({
  entry,
  onWhole,
}: {
  entry: Entry;
  onWhole: () => Promise<void>;
}) {
  const cut = Object.entries(entry.truncated);
  const lost = entry.state?.variables === "lost";
  if (entry.outputs.length === 0 && cut.length === 0 && entry.artifacts.length === 0 && !lost) return null;
  return (
    <div className="space-y-2 px-3 py-2">
      {entry.outputs.map((output, index) => (
        <One key={`${index + 1}`} output={output} />
      ))}
      {cut.length > 0 && <Cut cut={cut} onWhole={onWhole} />}
      {lost && (
        <p className="flex items-start gap-2 text-xs text-warn">
          <TriangleAlert className="mt-0.5 size-3.5 shrink-0" aria-hidden />
          <span>
            The variables of this context are lost{entry.state?.reason ? `: ${entry.state.reason}` : "."}{" "}
            Files are {entry.state?.files}.
          </span>
        </p>
      )}
      {entry.artifacts.length > 0 && (
        <ul className="flex flex-wrap gap-1.5" aria-label="Artifacts">
          {entry.artifacts.map(({ id, name, size, url }) => (
            <li key={id}>
              <a
                href={url}
                download={name}
                className="inline-flex h-6 items-center gap-1.5 rounded border bg-surface px-2 text-xs hover:border-line-strong hover:bg-hover"
              >
                <Download className="size-3 text-faint" aria-hidden />
                {name} <span className="text-faint tabular-nums">{formatBytes(size)}</span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
});

const One = memo(function One({ output }: { output: Output }) {
  switch (output.kind) {
    case "stdout":
      return <AnsiText text={output.text} />;
    case "stderr":
      return <AnsiText text={output.text} className="border-l-2 border-warn/50 pl-2.5 text-muted" />;
    case "result":
      return <RichOutput data={output.data} />;
    case "error": {
      const traceback = withoutHeadline(output);
      return (
        <div className="rounded-md bg-danger-soft/60 px-3 py-2">
          <p className="font-mono text-xs leading-5">
            <span className="font-semibold text-danger">{output.name}</span>
            {output.value && <span className="break-words whitespace-pre-wrap">: {output.value}</span>}
          </p>
          {traceback && (
            <div className="mt-1">
              <AnsiText text={traceback} />
            </div>
          )}
        </div>
      );
    }
  }
});

/** Python's own last line says again what stands above it, and its first one is a rule. */
function withoutHeadline({ name, value, traceback }: Extract<Output, { kind: "error" }>): string {
  const lines = traceback.trimEnd().split("\n");
  const plain = (line = "") => line.replace(/\x1b\[[0-9;]*m/g, "").trim();
  if (/^-{20,}$/.test(plain(lines[0]))) lines.shift();
  if (plain(lines[0]).startsWith(name) && /Traceback \(most recent call last\)$/.test(plain(lines[0])))
    lines.shift();
  if ([`${name}: ${value}`.trim(), name].includes(plain(lines.at(-1)))) lines.pop();
  return lines.join("\n").trimEnd();
}

const NAMES: Record<string, string> = {
  stdout: "output",
  stderr: "error output",
  result: "a value's text",
  error: "the error's text",
  traceback: "the traceback",
};

function Cut({ cut, onWhole }: { cut: [string, number][]; onWhole: () => Promise<void> }) {
  const [busy, setBusy] = useState(false);
  const [tried, setTried] = useState(false);
  const words = cut
    .filter(([field]) => field !== "results")
    .map(([field, total]) =>
      field.includes("/")
        ? `a ${field} of ${total.toLocaleString()} characters was left out`
        : `${NAMES[field] ?? field} has ${total.toLocaleString()} characters`,
    );
  const load = async () => {
    setBusy(true);
    await onWhole().catch((error: unknown) => toastError(error, "Load"));
    setBusy(false);
    setTried(true);
  };
  return (
    <div className={clsx("flex flex-wrap items-center gap-2 text-xs text-muted")}>
      <Scissors className="size-3.5 text-faint" aria-hidden />
      <span>
        {tried ? "This is all that was kept: " : "Cut here: "}
        {words.join(", ")}.
      </span>
      {!tried && (
        <Button size="sm" busy={busy} onClick={() => void load()}>
          Load the whole
        </Button>
      )}
    </div>
  );
}
