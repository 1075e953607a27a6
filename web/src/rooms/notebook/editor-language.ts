/** @module How the editor reads and colours each language. */
import { javascript } from "@codemirror/lang-javascript";
import { python } from "@codemirror/lang-python";
import { type Language, StreamLanguage } from "@codemirror/language";
import { r } from "@codemirror/legacy-modes/mode/r";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { tagHighlighter, tags } from "@lezer/highlight";

const LANGUAGES: Record<string, Language> = {
  python: python().language,
  node: javascript({ typescript: false }).language,
  r: StreamLanguage.define(r),
  bash: StreamLanguage.define(shell),
};

export const editorLanguage = (name: string): Language | null => LANGUAGES[name] ?? null;

/** Classes, whose colours are in the console's stylesheet. */
export const COLOURS = tagHighlighter([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.self], class: "syn-keyword" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: "syn-string" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], class: "syn-number" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], class: "syn-function" },
  { tag: [tags.standard(tags.variableName), tags.standard(tags.name)], class: "syn-function" },
  { tag: [tags.className, tags.typeName, tags.namespace, tags.meta], class: "syn-type" },
  { tag: tags.comment, class: "syn-comment" },
]);
