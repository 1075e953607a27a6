/**
 * Commands from one session to its host, one after another, so that an interrupt never overtakes its run.
 *
 * The next run of a busy context travels in the answer to the report that made room for it, which saves a call. An
 * answer has no order with the calls made after it, so whatever is sent next sends such a run once more before it;
 * the outbox takes only one of them.
 *
 * @module
 */
import type { Command } from "@sandbar/shared";
import { type Answer, refuse } from "../answer.ts";
import { type Env, leaseTimes } from "../env.ts";
import { hostObject } from "../rpc.ts";
import type { Records } from "./record.ts";

export interface Envelope {
  /** Names the command's purpose: sending it again while it waits in the outbox changes nothing. */
  readonly dedupe: string;
  readonly command: Command;
}

export class Outgoing {
  readonly #env: Env;
  readonly #records: Records;
  /** What left in an answer and may not have arrived yet. */
  readonly #answered = new Map<string, Envelope>();
  #tail: Promise<unknown> = Promise.resolve();
  #heardAt = 0;

  constructor(env: Env, records: Records) {
    this.#env = env;
    this.#records = records;
  }

  /** Resolves when the command is in the host's outbox. With `refusable`, an unreachable host refuses it. */
  send(command: Command, dedupe: string, refusable = false): Promise<Answer<null>> {
    for (const envelope of this.#answered.values()) this.#enqueue(envelope, false);
    this.#answered.clear();
    return this.#enqueue({ command, dedupe }, refusable);
  }

  #enqueue({ command, dedupe }: Envelope, refusable: boolean): Promise<Answer<null>> {
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

  /** To be put into the answer of the host's call that is being handled. */
  inAnswer(envelope: Envelope): Envelope {
    this.#answered.set(envelope.dedupe, envelope);
    return envelope;
  }

  /** The host has spoken, and has what `dedupe` names. */
  heard(dedupe: string): void {
    this.#heardAt = Date.now();
    this.#answered.delete(dedupe);
  }

  async hostIsReachable(): Promise<boolean> {
    // Silence shorter than this says nothing yet.
    if (Date.now() - this.#heardAt < leaseTimes(this.#env).heartbeat) return true;
    const host = this.#records.session?.host_id;
    return host ? hostObject(this.#env, host).isReachable() : false;
  }
}
