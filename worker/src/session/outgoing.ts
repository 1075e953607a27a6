/**
 * Commands from one session to its host, one after another, so that an interrupt never overtakes its run.
 *
 * The next run of a busy context travels in the answer to the report that made room for it, which saves a call. An
 * answer has no order with the calls made after it, and a host's object may have forgotten a run, so whatever must
 * not overtake one sends the runs that have not spoken once more before it; the outbox takes only one of each.
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
  #tail: Promise<unknown> = Promise.resolve();
  #heardAt = 0;
  /** Runs that were given out and of which the host has said nothing yet. */
  silentRuns: () => Envelope[] = () => [];

  constructor(env: Env, records: Records) {
    this.#env = env;
    this.#records = records;
  }

  /** Resolves when the command is in the host's outbox. With `refusable`, an unreachable host refuses it. */
  send(command: Command, dedupe: string, refusable = false): Promise<Answer<null>> {
    if (command.type !== "run") for (const run of this.silentRuns()) this.send(run.command, run.dedupe);

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

  /** The host has spoken. */
  heard(): void {
    this.#heardAt = Date.now();
  }

  async hostIsReachable(): Promise<boolean> {
    // Silence shorter than this says nothing yet.
    if (Date.now() - this.#heardAt < leaseTimes(this.#env).heartbeat) return true;
    const host = this.#records.session?.host_id;
    return host ? hostObject(this.#env, host).isReachable() : false;
  }
}
