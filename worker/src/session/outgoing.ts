/**
 * Commands from one session to its host, one after another, so that an interrupt never overtakes its run.
 *
 * The next run of a busy context travels in the answer to the report that made room for it, which saves a call. An
 * answer has no order with the calls made after it, and a host's object may have forgotten a run, so whatever must
 * not overtake one takes the runs that have not spoken along, in the same call: the object may be lost between two.
 * The outbox takes only one of each.
 *
 * @module
 */
import { type Answer, refuse } from "../answer.ts";
import { type Env, leaseTimes } from "../env.ts";
import type { PromptReport } from "../host/prompt-reports.ts";
import { hostObject, retrying } from "../rpc.ts";
import type { Envelope } from "./envelope.ts";
import type { GivenRuns } from "./given-runs.ts";
import type { Records } from "./record.ts";

/** To a report: what of it is persisted, or from where it must come again. */
export type Reply = { readonly execution: string } & (
  | { readonly ack: number; readonly final: boolean }
  | { readonly resend: number }
);

/** Nobody waits for a reply, which only lets others forget; it rides with the next command, or leaves alone. */
const REPLY_MS = 100;

export class Outgoing {
  readonly #env: Env;
  readonly #records: Records;
  readonly #runs: GivenRuns;
  #tail: Promise<unknown> = Promise.resolve();
  #heardAt = 0;
  #replies: Reply[] = [];
  #replying: ReturnType<typeof setTimeout> | null = null;

  constructor(env: Env, records: Records, runs: GivenRuns) {
    this.#env = env;
    this.#records = records;
    this.#runs = runs;
  }

  /**
   * Resolves when the command is in the host's outbox. With `refusable`, an unreachable host refuses it. A `prompt` run
   * resolves a little later, with its report if there is one by then; other runs do not wait for it.
   */
  send(
    { command, dedupe, again = false }: Envelope,
    { refusable = false, prompt = false } = {},
  ): Promise<Answer<PromptReport | null>> {
    const follows = command.type !== "run";
    const accepted = follows && this.#runs.accepted();
    const sent = this.#tail.then(async () => {
      await accepted;
      const session = this.#records.session;
      const host = session?.host_id;
      if (!host) return refuse("NOT_FOUND", "The session has no host");
      const { id, tenant } = session;
      const first = follows ? this.#runs.silent() : [];
      const replies = this.#replies.splice(0);
      let attempts = 0;
      return retrying(async () => {
        // An attempt that failed may have reached the host all the same.
        const repeated = again || attempts++ > 0;
        return this.#env.HOSTS.getByName(host).dispatch({
          session: id,
          tenant,
          first,
          dedupe,
          command,
          again: repeated,
          refusable: refusable && !repeated,
          replies,
          prompt: prompt && !repeated,
        });
      });
    });
    if (!prompt) this.#tail = sent.catch(() => undefined);
    return sent;
  }

  reply(reply: Reply): void {
    this.#replies.push(reply);
    this.#replying ??= setTimeout(() => {
      this.#replying = null;
      const session = this.#records.session;
      if (this.#replies.length === 0 || !session?.host_id) return;
      hostObject(this.#env, session.host_id)
        .reply(session.id, this.#replies.splice(0))
        .catch((error) => console.error("reports not acknowledged", session.id, error));
    }, REPLY_MS);
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
