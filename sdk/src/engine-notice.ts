/** @module What a model has to know of a session that is no container. */
import type { EngineChoice, Session } from "@sandbar/shared";

/** For descriptions of tools; null where a session can do what one expects of a machine. */
export function engineNotice(engine: EngineChoice | undefined): string | null {
  return engine === "wasm"
    ? "The sandbox runs Python in WebAssembly (Pyodide): no other language, no shell, no child processes, no threads, no sockets, no servers."
    : null;
}

/** One sentence: with what it runs, in which languages, and what it has beside them. */
export function abilitiesInWords({
  engine,
  languages,
  capabilities,
}: Pick<Session, "engine" | "languages" | "capabilities">): string {
  // Control planes of before there was a second engine say nothing.
  if (!engine) return "";
  const notice = engineNotice(engine);
  const has = capabilities?.length ? ` It can have: ${capabilities.join(", ")}.` : "";
  return `${notice ?? `It is a container with ${languages.join(", ")}.`}${has}`;
}
