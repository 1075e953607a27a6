import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import { cspNonce } from "../../api/csp-nonce.ts";

const LANGUAGES: [names: RegExp, load: () => Promise<Extension>][] = [
  [/\.pyw?$/i, async () => (await import("@codemirror/lang-python")).python()],
  [/\.[cm]?jsx?$/i, async () => (await import("@codemirror/lang-javascript")).javascript({ jsx: true })],
  [
    /\.[cm]?tsx?$/i,
    async () => (await import("@codemirror/lang-javascript")).javascript({ jsx: true, typescript: true }),
  ],
  [/\.(json|ipynb)$/i, async () => (await import("@codemirror/lang-json")).json()],
  [/\.(md|markdown)$/i, async () => (await import("@codemirror/lang-markdown")).markdown()],
  [
    /(\.(sh|bash|zsh)|^\.?(bashrc|profile))$/i,
    async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/shell")).shell),
  ],
  [/\.r$/i, async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/r")).r)],
  [/\.ya?ml$/i, async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/yaml")).yaml)],
  [
    /\.(toml|ini|cfg|conf)$/i,
    async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/toml")).toml),
  ],
  [
    /\.(html?|svg|xml|xhtml)$/i,
    async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/xml")).html),
  ],
  [/\.css$/i, async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/css")).css)],
  [
    /\.sql$/i,
    async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/sql")).standardSQL),
  ],
  [
    /dockerfile$/i,
    async () => StreamLanguage.define((await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile),
  ],
];

const LOOK = [
  syntaxHighlighting(
    HighlightStyle.define([
      { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)" },
      { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--ok)" },
      { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--warn)" },
      { tag: [tags.comment, tags.meta], color: "var(--faint)", fontStyle: "italic" },
      { tag: [tags.heading, tags.strong], fontWeight: "600" },
      { tag: tags.emphasis, fontStyle: "italic" },
      { tag: [tags.propertyName, tags.attributeName, tags.tagName], color: "var(--accent)" },
      { tag: tags.link, textDecoration: "underline" },
      { tag: tags.invalid, color: "var(--danger)" },
    ]),
  ),
  EditorView.theme({
    "&": { height: "100%", fontSize: "13px", backgroundColor: "transparent" },
    "&.cm-focused": { outline: "none" },
    ".cm-scroller": { fontFamily: "var(--font-mono)", fontFeatureSettings: '"calt" 0', lineHeight: "1.55" },
    ".cm-content": { caretColor: "var(--accent)", padding: "8px 0" },
    ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
    ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
    ".cm-lineNumbers .cm-gutterElement": { padding: "0 10px 0 14px", minWidth: "40px" },
    ".cm-activeLine, .cm-activeLineGutter": {
      backgroundColor: "color-mix(in oklab, var(--hover) 55%, transparent)",
    },
    ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": {
      backgroundColor: "color-mix(in oklab, var(--accent) 24%, transparent)",
    },
    ".cm-selectionMatch": { backgroundColor: "color-mix(in oklab, var(--accent) 14%, transparent)" },
    ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
    ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)", fontFamily: "var(--font-sans)" },
    ".cm-panels-top": { borderBottom: "1px solid var(--line)" },
    ".cm-textfield": {
      backgroundColor: "var(--surface)",
      border: "1px solid var(--line-strong)",
      borderRadius: "6px",
      padding: "3px 8px",
    },
    ".cm-button": {
      backgroundImage: "none",
      backgroundColor: "var(--surface)",
      border: "1px solid var(--line-strong)",
      borderRadius: "6px",
      padding: "3px 8px",
    },
    ".cm-specialChar": { color: "var(--danger)" },
  }),
];

/** A text file's editor. `value` is read when `version` changes; in between the editor owns its text. */
export default function TextEditor({
  name,
  value,
  version,
  readOnly,
  onChange,
  onSave,
}: {
  name: string;
  value: string;
  version: string;
  readOnly: boolean;
  onChange: (text: string) => void;
  onSave: () => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const tell = useRef({ onChange, onSave });
  tell.current = { onChange, onSave };

  useEffect(() => {
    const language = new Compartment();
    const editor = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(cspNonce()),
          lineNumbers(),
          highlightActiveLineGutter(),
          highlightActiveLine(),
          // Bidi controls and the like are shown, not obeyed.
          highlightSpecialChars(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightSelectionMatches(),
          search({ top: true }),
          language.of([]),
          ...LOOK,
          EditorState.readOnly.of(readOnly),
          EditorView.contentAttributes.of({ "aria-label": "File content", tabindex: "0" }),
          keymap.of([
            {
              key: "Mod-s",
              preventDefault: true,
              run: () => {
                tell.current.onSave();
                return true;
              },
            },
            // Escape, then Tab, leaves the editor.
            indentWithTab,
            ...searchKeymap,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) tell.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = editor;
    const load = LANGUAGES.find(([names]) => names.test(name))?.[1];
    void load?.().then((extension) => editor.dispatch({ effects: language.reconfigure(extension) }));
    return () => editor.destroy();
  }, [name, version, readOnly]);

  return <div ref={host} className="h-full min-h-0 overflow-hidden" />;
}
