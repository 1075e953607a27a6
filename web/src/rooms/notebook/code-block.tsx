import { isValidElement, type ReactNode } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import HighlightedCode from "./highlighted-code.tsx";

/** What people and models call the languages that are coloured here. */
const ALIASES: Record<string, string> = {
  ...{ py: "python", python3: "python", ipython: "python" },
  ...{
    js: "node",
    javascript: "node",
    mjs: "node",
    ts: "node",
    typescript: "node",
    jsx: "node",
    json: "node",
  },
  ...{ sh: "bash", shell: "bash", zsh: "bash", console: "bash" },
};

/** Code between words: coloured where its language is known, and to be copied. */
export function CodeBlock({ children }: { children?: ReactNode }) {
  const { className = "", children: inner } = isValidElement<{ className?: string; children?: ReactNode }>(
    children,
  )
    ? children.props
    : { children };
  const code = String(inner ?? "").replace(/\n$/, "");
  const named = /language-(\S+)/.exec(className)?.[1]?.toLowerCase() ?? "";
  return (
    <div className="group/code relative">
      <pre
        // What scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
      >
        <code>
          <HighlightedCode code={code} language={ALIASES[named] ?? named} />
        </code>
      </pre>
      <span className="absolute top-1 right-1 opacity-0 transition-opacity group-focus-within/code:opacity-100 group-hover/code:opacity-100">
        <CopyButton text={code} label="Copy the code" className="bg-surface" />
      </span>
    </div>
  );
}
