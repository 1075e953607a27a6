import type { MimeBundle } from "@sandbar/sdk";
import { Ellipsis } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { SandboxedFrame } from "../../preview/sandboxed-frame.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { AnsiText } from "./ansi-text.tsx";
import { JsonTree } from "./json-tree.tsx";
import { pngSize, shownTypes } from "./mime.ts";

const Markdown = lazy(() => import("./markdown.tsx"));

const HIGHEST = 640;

/** Gives pandas' tables and plain HTML the console's look; what brings styles of its own keeps them. */
const LOOK = `<style>
html { font: 13px/1.5 "Inter", system-ui, sans-serif; color: #1b1c1d; }
html[data-theme="dark"] { color: #e9eaea; }
body > svg, body > img { display: block; }
table.dataframe { border: 0; font-variant-numeric: tabular-nums; }
table.dataframe th, table.dataframe td { border: 0; padding: 3px 16px 3px 0; border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
table.dataframe th { font-weight: 500; opacity: .75; }
table.dataframe tr:hover { background: color-mix(in srgb, currentColor 6%, transparent); }
</style>`;

/** A value in its richest form; the others are a click away. */
export function RichOutput({ data }: { data: MimeBundle }) {
  const types = shownTypes(data);
  const [chosen, setChosen] = useState<string | null>(null);
  const type = chosen && types.includes(chosen) ? chosen : types[0];
  if (type === undefined) return null;
  return (
    <div className="group/output relative">
      <Form type={type} value={data[type]} />
      {types.length > 1 && (
        <div className="absolute top-0 right-0 opacity-0 group-focus-within/output:opacity-100 group-hover/output:opacity-100">
          <Menu
            trigger={<IconButton label="Show as" icon={<Ellipsis />} className="bg-surface" />}
            items={types.map((each) => ({ label: each, onSelect: () => setChosen(each) }))}
          />
        </div>
      )}
    </div>
  );
}

function Form({ type, value }: { type: string; value: unknown }) {
  if (type === "text/html")
    return <SandboxedFrame html={LOOK + value} title="HTML that the code has made" maxHeight={HIGHEST} />;
  if (type === "image/svg+xml")
    return <SandboxedFrame html={LOOK + value} title="Drawing that the code has made" maxHeight={HIGHEST} />;
  if (type.startsWith("image/")) {
    const size = type === "image/png" ? pngSize(String(value)) : null;
    return (
      <img
        alt="What the code has drawn"
        src={pictureUrl(type, String(value))}
        {...size}
        className="h-auto max-w-full rounded-sm bg-white"
      />
    );
  }
  if (type === "text/markdown" || type === "text/latex") {
    const text = type === "text/latex" ? asMath(String(value)) : String(value);
    return (
      <Suspense fallback={<AnsiText text={text} />}>
        <Markdown text={text} />
      </Suspense>
    );
  }
  if (typeof value === "object" || type.endsWith("json"))
    return (
      <div className="font-mono text-xs leading-5">
        <JsonTree value={value} />
      </div>
    );
  return <AnsiText text={String(value)} />;
}

/** Pictures of a chat are links to its thread; others come along. */
function pictureUrl(type: string, value: string): string {
  return value.startsWith("/langgraph/threads/") ? value : `data:${type};base64,${value.replace(/\s/g, "")}`;
}

/** SymPy writes $\displaystyle …$, others an environment alone. */
function asMath(latex: string): string {
  const inner = latex.trim().replace(/^\$+|\$+$/g, "");
  return `$$\n${inner}\n$$`;
}
