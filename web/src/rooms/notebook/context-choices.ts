/** @module The contexts that a cell may run in: those that exist, and each language's own, which the first cell makes. */
import type { Context, Language, SessionRecord } from "@sandbar/sdk";
import { languageName } from "../../ui/language-name.ts";

export interface ContextChoice {
  name: string;
  language: Language;
  exists: boolean;
  label: string;
}

export function contextChoices(
  contexts: readonly Context[],
  { runtime, languages }: Pick<SessionRecord, "runtime" | "languages">,
): ContextChoice[] {
  const existing = contexts.map(({ name, language }) => ({
    name,
    language,
    exists: true,
    label: name === language ? languageName(language) : `${name} · ${languageName(language)}`,
  }));
  const possible = languagesOf({ runtime, languages })
    .filter((language) => !contexts.some(({ name }) => name === language))
    .map((language) => ({ name: language, language, exists: false, label: languageName(language) }));
  return [...existing, ...possible].sort(
    (a, b) => Number(b.language === runtime) - Number(a.language === runtime),
  );
}

/** Those of the session, which are told when it is ready. */
export function languagesOf({
  runtime,
  languages,
}: Pick<SessionRecord, "runtime" | "languages">): readonly Language[] {
  return languages?.length ? languages : [runtime];
}
