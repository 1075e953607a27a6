/** @module Which context an execution belongs to. */
import {
  CONTEXT_LIMIT,
  type CreateExecution,
  type Language,
  LanguageSchema,
  newId,
  unsupportedBy,
} from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import type { ContextRow, SessionRecord } from "./record.ts";

export interface ContextLookup {
  find(reference: string): ContextRow | null;
  count(): number;
}

/** `fresh` contexts are not stored yet. */
export type Resolved = { context: ContextRow; fresh: boolean };

/**
 * A reference that exists is taken; one that does not is made when its language is clear: given
 * beside it, or the reference is itself a language's name.
 */
export function resolveContext(
  session: Pick<SessionRecord, "languages" | "spec">,
  wanted: Pick<CreateExecution, "context" | "language">,
  contexts: ContextLookup,
  now: number,
): Answer<Resolved> {
  const name = wanted.context ?? wanted.language ?? session.spec.runtime;
  const context = contexts.find(name);
  if (context) {
    if (wanted.language && wanted.language !== context.language)
      return refuse("CONTEXT_EXISTS", `The context ${name} runs ${context.language}, not ${wanted.language}`);
    return ok({ context, fresh: false });
  }
  const named = LanguageSchema.safeParse(name);
  const language = wanted.language ?? (named.success ? named.data : undefined);
  if (!language) return refuse("NOT_FOUND", `No context ${name}`);
  return newContext(session, name, language, contexts, now);
}

export function newContext(
  session: Pick<SessionRecord, "languages" | "spec">,
  name: string,
  language: Language,
  contexts: ContextLookup,
  now: number,
): Answer<Resolved> {
  const existing = contexts.find(name);
  if (existing)
    return existing.language === language
      ? ok({ context: existing, fresh: false })
      : refuse("CONTEXT_EXISTS", `The context ${name} runs ${existing.language}, not ${language}`);
  if (session.spec.engine === "wasm" && language !== "python")
    return refuse("UNSUPPORTED_BY_ENGINE", unsupportedBy("wasm", [`the language ${language}`]));
  if (!session.languages.includes(language))
    return refuse(
      "LANGUAGE_UNAVAILABLE",
      `The session's image has ${session.languages.join(", ")}, not ${language}`,
    );
  if (contexts.count() >= CONTEXT_LIMIT)
    return refuse("LIMIT_EXCEEDED", `A session may have ${CONTEXT_LIMIT} contexts`);
  return ok({ context: { id: newId("ctx"), name, language, created_at: now }, fresh: true });
}
