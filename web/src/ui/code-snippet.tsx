import { clsx } from "clsx";
import { CopyButton } from "./copy-button.tsx";

export function CodeSnippet({ code, className }: { code: string; className?: string }) {
  return (
    <div className={clsx("relative rounded-lg border bg-sunken", className)}>
      <pre
        // Long lines scroll, and what scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        className="overflow-x-auto px-3 py-2.5 pr-10 text-xs leading-5"
      >
        {code}
      </pre>
      <CopyButton text={code} className="absolute top-1.5 right-1.5 bg-sunken" />
    </div>
  );
}
