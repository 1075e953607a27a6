/** @module What a session's engine cannot do is refused before its host is asked. */
import { type Capability, capabilityInWords, type SessionMethod, unsupportedBy } from "@sandbar/shared";
import { type Refusal, refuse } from "../answer.ts";
import { abilities, type SessionRecord } from "./record.ts";

const NEEDED_BY: Record<string, Capability> = {
  processes: "processes",
  terminal: "terminals",
  ports: "ports",
};

/** What a question to the host is about, unless every engine can answer it. */
export function capabilityFor(method: SessionMethod, params: unknown): Capability | null {
  if (method === "processes.start" && (params as { pty?: unknown }).pty) return "terminals";
  return NEEDED_BY[method.split(".")[0]!] ?? null;
}

export function refusalByEngine(
  session: Pick<SessionRecord, "spec" | "languages" | "capabilities">,
  need: Capability | null,
): Refusal | null {
  const { engine, capabilities } = abilities(session.spec, session);
  if (need === null || capabilities.includes(need)) return null;
  return refuse("UNSUPPORTED_BY_ENGINE", unsupportedBy(engine, [capabilityInWords(need)]));
}
