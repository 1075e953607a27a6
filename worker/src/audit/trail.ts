/**
 * Lines on their way to D1, gathered for a moment in this isolate so that no answer waits for them and a flood of
 * refusals is a few lines: the same thing within a moment is one line with a count.
 *
 * @module
 */
import { type AuditEntry, newId } from "@sandbar/shared";

export type AuditFacts = Omit<AuditEntry, "id" | "at" | "last_at" | "count">;

const DIFFERENT_LIMIT = 500;

export class AuditTrail {
  readonly #gathered = new Map<string, AuditEntry>();

  /** `apart` keeps it from being one with others of its kind. */
  add(facts: AuditFacts, now: number, apart: boolean): void {
    const full = this.#gathered.size >= DIFFERENT_LIMIT;
    // Too many different ones at once: what they have in common is still said.
    const said =
      full && !apart ? { ...facts, key_id: null, token_id: null, address: null, target: null } : facts;
    const id = newId("aud");
    const { request_id: _, ...same } = said;
    const name = apart ? id : JSON.stringify(same);
    const at = new Date(now).toISOString();
    const before = this.#gathered.get(name);
    this.#gathered.set(
      name,
      before
        ? { ...before, last_at: at, count: before.count + 1 }
        : { id, at, last_at: at, count: 1, ...said },
    );
  }

  get isEmpty(): boolean {
    return this.#gathered.size === 0;
  }

  /** What was gathered, which is not here any more. */
  take(): AuditEntry[] {
    const entries = [...this.#gathered.values()];
    this.#gathered.clear();
    return entries;
  }
}
