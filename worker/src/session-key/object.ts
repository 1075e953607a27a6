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
import type { NewSession } from "../session/lifecycle.ts";

const SessionId = idSchema("ses");

export interface KeyRequest {
  readonly tenant: string;
  readonly key: string;
  /** As the caller gave it, without the values of secrets: it must agree with the session that is there. */
  readonly asked: CreateSession;
}

export class SessionKeyObject extends DurableObject<Env> {
  #tail: Promise<unknown> = Promise.resolve();

  /** Null when the key is free. */
  async get(wanted: KeyRequest): Promise<Answer<Session> | null> {
    return this.#inTurn(() => this.#get(wanted));
  }

  async getOrCreate(
    wanted: KeyRequest & Omit<NewSession, "id">,
  ): Promise<Answer<{ session: Session; created: boolean }>> {
    return this.#inTurn(async () => {
      const { asked, ...rest } = wanted;
      const found = await this.#get(wanted);
      if (found) return "failure" in found ? found : ok({ session: found.value, created: false });
      const id = newId("ses");
      this.ctx.storage.kv.put("session", id);
      const made = await sessionObject(this.env, rest.tenant, id).create({ id, ...rest });
      return "failure" in made ? made : ok({ session: made.value, created: true });
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(work);
    this.#tail = turn.catch(() => undefined);
    return turn;
  }

  async #get({ tenant, key, asked }: KeyRequest): Promise<Answer<Session> | null> {
    // A session that was made without a key has its id as its key.
    const current =
      this.ctx.storage.kv.get<string>("session") ?? (SessionId.safeParse(key).success ? key : undefined);
    const match = current && (await sessionObject(this.env, tenant, current).match(asked));
    if (!match) return null;
    return match.conflicts.length === 0
      ? ok(match.session)
      : refuse("SESSION_KEY_CONFLICT", `The session differs in ${match.conflicts.join(", ")}`);
  }
}
