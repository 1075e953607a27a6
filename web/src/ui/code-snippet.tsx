import { clsx } from "clsx";
import { CopyButton } from "./copy-button.tsx";

export function CodeSnippet({ code, className }: { code: string; className?: string }) {
  return (
    <div className={clsx("flex items-start rounded-lg border bg-sunken", className)}>
      <pre
        // Long lines scroll, and what scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        className="min-w-0 flex-1 overflow-x-auto py-2.5 pl-3 text-xs leading-5"
      >
        {code}
      </pre>
      <CopyButton text={code} className="m-1.5 shrink-0" />
    </div>
  );
}
