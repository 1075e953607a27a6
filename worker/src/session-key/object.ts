/**
 * One per tenant and session key: which session the key means now. Everything goes through one queue, so that
 * any number of parallel creates of one key make one session.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { type CreateSession, idSchema, newId, type Session } from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";

const SessionId = idSchema("ses");

export class SessionKeyObject extends DurableObject<Env> {
  #tail: Promise<unknown> = Promise.resolve();

  async getOrCreate(
    tenant: string,
    key: string,
    request: CreateSession,
  ): Promise<Answer<{ session: Session; created: boolean }>> {
    const turn = this.#tail.then(() => this.#getOrCreate(tenant, key, request));
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #getOrCreate(
    tenant: string,
    key: string,
    request: CreateSession,
  ): Promise<Answer<{ session: Session; created: boolean }>> {
    // A session that was made without a key has its id as its key.
    const current =
      this.ctx.storage.kv.get<string>("session") ?? (SessionId.safeParse(key).success ? key : undefined);
    if (current) {
      const match = await sessionObject(this.env, tenant, current).match(request);
      if (match) {
        return match.conflicts.length === 0
          ? ok({ session: match.session, created: false })
          : refuse("SESSION_KEY_CONFLICT", `The session differs in ${match.conflicts.join(", ")}`);
      }
    }
    const id = newId("ses");
    this.ctx.storage.kv.put("session", id);
    const made = await sessionObject(this.env, tenant, id).create({ id, tenant, key, request });
    return "failure" in made ? made : ok({ session: made.value, created: true });
  }
}
