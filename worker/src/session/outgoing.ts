/** @module Commands from one session to its host, one after another, so that an interrupt never overtakes its run. */
import type { Command } from "@sandbar/shared";
import { type Answer, refuse } from "../answer.ts";
import type { Env } from "../env.ts";
import { hostObject } from "../rpc.ts";
import type { Records } from "./record.ts";

export class Outgoing {
  readonly #env: Env;
  readonly #records: Records;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(env: Env, records: Records) {
    this.#env = env;
    this.#records = records;
  }

  /**
   * Resolves when the command is in the host's outbox. `dedupe` names the command's purpose: sending
   * it again while it waits there changes nothing. With `refusable`, an unreachable host refuses it.
   */
  send(command: Command, dedupe: string, refusable = false): Promise<Answer<null>> {
    const sent = this.#tail.then(() => {
      const session = this.#records.session;
      if (!session?.host_id) return refuse("NOT_FOUND", "The session has no host");
      return hostObject(this.#env, session.host_id).dispatch({
        session: session.id,
        tenant: session.tenant,
        dedupe,
        command,
        refusable,
      });
    });
    this.#tail = sent.catch(() => undefined);
    return sent;
  }

  async hostIsReachable(): Promise<boolean> {
    const host = this.#records.session?.host_id;
    return host ? hostObject(this.#env, host).isReachable() : false;
  }
}
