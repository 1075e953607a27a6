import {
  acceptCompletion,
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, placeholder } from "@codemirror/view";
import { SandbarError, type Session } from "@sandbar/sdk";
import { useEffect, useRef } from "react";
import { cspNonce } from "../../api/csp-nonce.ts";
import { COLOURS, editorLanguage } from "./editor-language.ts";

const THEME = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": {
    fontFamily: "var(--font-mono)",
    lineHeight: "20px",
    padding: "8px 0",
    caretColor: "var(--accent)",
  },
  ".cm-line": { padding: "0 12px" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in oklab, var(--accent) 26%, transparent)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--hover)",
    outline: "1px solid var(--line-strong)",
  },
  ".cm-placeholder": { color: "var(--faint)" },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    border: "1px solid var(--line)",
    borderRadius: "8px",
    boxShadow: "0 4px 16px var(--shadow)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    fontFamily: "var(--font-mono)",
    fontSize: "12px",
    maxHeight: "16rem",
    padding: "4px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    padding: "2px 8px",
    borderRadius: "4px",
    lineHeight: "20px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--hover)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--faint)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)" },
  ".cm-completionIcon": { color: "var(--faint)", opacity: "1" },
});

export interface CodeEditorProps {
  code: string;
  language: string;
  onChange: (code: string) => void;
  /** Shift-Enter; `stay` with Ctrl or ⌘. */
  onRun: (options: { stay: boolean; code: string }) => void;
  /** Out of the cell, upwards or downwards. */
  onLeave?: (step: -1 | 1) => void;
  session?: Session;
  context?: string;
  label: string;
  focus?: boolean;
  hint?: string;
}

export default function CodeEditor(props: CodeEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const language = useRef(new Compartment());

  useEffect(() => {
    const leave = (step: -1 | 1) => (target: EditorView) => {
      const { main } = target.state.selection;
      const line = target.state.doc.lineAt(main.head).number;
      if (!main.empty || line !== (step === -1 ? 1 : target.state.doc.lines) || !latest.current.onLeave)
        return false;
      latest.current.onLeave(step);
      return true;
    };
    const run = (stay: boolean) => (target: EditorView) => {
      latest.current.onRun({ stay, code: target.state.doc.toString() });
      return true;
    };
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: latest.current.code,
        extensions: [
          EditorView.cspNonce.of(cspNonce()),
          Prec.highest(
            keymap.of([
              { key: "Shift-Enter", run: run(false) },
              { key: "Mod-Enter", run: run(true) },
            ]),
          ),
          keymap.of([
            { key: "Tab", run: acceptCompletion },
            { key: "Tab", run: indentMore, shift: indentLess },
            { key: "ArrowUp", run: leave(-1) },
            { key: "ArrowDown", run: leave(1) },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...historyKeymap,
            ...defaultKeymap,
          ]),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          EditorView.lineWrapping,
          indentUnit.of(latest.current.language === "python" ? "    " : "  "),
          syntaxHighlighting(COLOURS),
          language.current.of(editorLanguage(latest.current.language) ?? []),
          autocompletion({
            override: [(context) => complete(context, latest.current)],
            activateOnTyping: true,
          }),
          placeholder(latest.current.hint ?? ""),
          THEME,
          EditorView.contentAttributes.of({ "aria-label": latest.current.label }),
          EditorView.updateListener.of(({ docChanged, state }) => {
            if (docChanged) latest.current.onChange(state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    if (latest.current.focus) editor.focus();
    return () => editor.destroy();
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: language.current.reconfigure(editorLanguage(props.language) ?? []) });
  }, [props.language]);

  // Emptied or replaced from outside.
  useEffect(() => {
    const editor = view.current;
    if (!editor || editor.state.doc.toString() === props.code) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: props.code } });
  }, [props.code]);

  useEffect(() => {
    if (props.focus) view.current?.focus();
  }, [props.focus]);

  return <div ref={host} />;
}

/** What the kernel knows, asked when a name has begun or by Ctrl-Space. */
async function complete(
  context: CompletionContext,
  { session, context: name, language }: CodeEditorProps,
): Promise<CompletionResult | null> {
  const word = context.matchBefore(language === "bash" ? /[\w./~-]+$/ : /[\w.$]+$/);
  if (!session || !name || !(context.explicit || (word && word.to - word.from > 1))) return null;
  const aborter = new AbortController();
  context.addEventListener("abort", () => aborter.abort());
  try {
    const answer = await session.complete(context.state.doc.toString(), {
      cursor: context.pos,
      context: name,
      signal: aborter.signal,
    });
    if (answer.matches.length === 0) return null;
    return {
      from: answer.start,
      to: answer.end,
      options: answer.matches.map(({ text, type, signature }) => ({
        label: text,
        type: type === "instance" ? "variable" : (type ?? undefined),
        detail: signature ?? (type && type !== "instance" ? type : undefined),
      })),
      validFor: /^[\w]*$/,
    };
  } catch (error) {
    // Completion is a help; what is wrong with the session is told elsewhere.
    if (error instanceof SandbarError || aborter.signal.aborted) return null;
    throw error;
  }
}
