import { highlightCode } from "@lezer/highlight";
import { type ReactNode, useMemo } from "react";
import { COLOURS, editorLanguage } from "./editor-language.ts";

/** Code with its colours and without an editor: hundreds of them cost little. */
export default function HighlightedCode({ code, language }: { code: string; language: string }) {
  const nodes = useMemo(() => {
    const parser = editorLanguage(language)?.parser;
    if (!parser || code.length > 50_000) return code;
    const out: ReactNode[] = [];
    highlightCode(
      code,
      parser.parse(code),
      COLOURS,
      (text, classes) =>
        out.push(
          classes ? (
            <span key={out.length} className={classes}>
              {text}
            </span>
          ) : (
            text
          ),
        ),
      () => out.push("\n"),
    );
    return out;
  }, [code, language]);
  return <>{nodes}</>;
}
