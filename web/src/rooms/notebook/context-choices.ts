/** @module The contexts that a cell may run in: those that exist, and each language's own, which the first cell makes. */
import type { Context, Language } from "@sandbar/sdk";
import { languageName } from "../../ui/language-name.ts";

export interface ContextChoice {
  name: string;
  language: Language;
  exists: boolean;
  label: string;
}

/** What each runtime's image has beside its own. */
const BESIDE: Record<Language, Language[]> = {
  python: ["python", "bash"],
  node: ["node", "bash", "python"],
  r: ["r", "bash", "python"],
  bash: ["bash", "python"],
};

export function contextChoices(contexts: readonly Context[], runtime: Language): ContextChoice[] {
  const existing = contexts.map(({ name, language }) => ({
    name,
    language,
    exists: true,
    label: name === language ? languageName(language) : `${name} · ${languageName(language)}`,
  }));
  const possible = BESIDE[runtime]
    .filter((language) => !contexts.some(({ name }) => name === language))
    .map((language) => ({ name: language, language, exists: false, label: languageName(language) }));
  return [...existing, ...possible].sort(
    (a, b) => Number(b.language === runtime) - Number(a.language === runtime),
  );
}
