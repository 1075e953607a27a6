import { lazy, Suspense } from "react";
import type { CodeEditorProps } from "./code-editor.tsx";

const CodeEditor = lazy(() => import("./code-editor.tsx"));
const HighlightedCode = lazy(() => import("./highlighted-code.tsx"));

const PLAIN = "px-3 py-2 font-mono text-[13px] leading-5 break-words whitespace-pre-wrap";

/** Code to look at; its place and size are those of the editor. */
export function CodeView({ code, language }: { code: string; language: string }) {
  return (
    <pre className={PLAIN}>
      <Suspense fallback={code}>
        <HighlightedCode code={code} language={language} />
      </Suspense>
    </pre>
  );
}

/** The same to write in. */
export function CodeArea(props: CodeEditorProps) {
  return (
    <Suspense fallback={<pre className={PLAIN}>{props.code || " "}</pre>}>
      <CodeEditor {...props} />
    </Suspense>
  );
}
