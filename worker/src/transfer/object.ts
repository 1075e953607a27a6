/**
 * Transfers: each joins two requests under a grant, a secret that works once for each side. A few objects share all grants,
 * since each object leaves a database file on one machine, used or not. Nothing is stored: with the object a transfer ends.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { RECHECK_MS, stillGood } from "../auth.ts";
import { drain } from "../drain.ts";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";
import { Joint, type Side, type TransferPlan } from "./joint.ts";

const UNUSED_MS = 60_000;
/** Shorter transfers were use enough when they were asked for. */
const TOUCH_FIRST_MS = 500;

export class TransferObject extends DurableObject<Env> {
  readonly #joints = new Map<string, Joint>();

  /** Before anybody hears of the grant. */
  async open(grant: string, plan: TransferPlan): Promise<void> {
    const joint = new Joint(plan);
    this.#joints.set(grant, joint);
    setTimeout(() => {
      if (!joint.running) this.#end(grant, "nobody came");
    }, plan.unusedMs ?? UNUSED_MS);
  }

  /** The call that was to bring the other side has failed. */
  async cancel(grant: string): Promise<void> {
    this.#end(grant, "cancelled");
  }

  /** The host of the URL is who comes, the path is the grant. */
  override async fetch(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    const side = hostname as Side;
    const grant = pathname.slice(1);
    const joint = this.#joints.get(grant);
    if (request.method === "GET" && joint?.mayTake(side)) {
      const answer = await joint.take();
      this.#forget(grant, joint);
      return answer;
    }
    if (request.method === "PUT" && joint?.mayGive(side)) {
      const release = this.#keepInUse(joint.plan);
      const checks = setInterval(() => void this.#endWithKey(grant, joint.plan), RECHECK_MS);
      const answer = await joint.give(request);
      clearInterval(checks);
      release();
      this.#forget(grant, joint);
      return answer;
    }
    await drain(request.body);
    return new Response("No such transfer", { status: 404 });
  }

  /** Until it is released. */
  #keepInUse({ tenant, sessions }: TransferPlan): () => void {
    let over = false;
    const touch = async () => {
      const touched = sessions.map((id) => sessionObject(this.env, tenant, id).touch());
      const again = await Promise.all(touched).catch(() => [TOUCH_FIRST_MS]);
      if (!over) timer = setTimeout(() => void touch(), Math.min(...again));
    };
    let timer = setTimeout(() => void touch(), TOUCH_FIRST_MS);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }

  async #endWithKey(grant: string, { key }: TransferPlan): Promise<void> {
    if (!(await stillGood(this.env.DB, key))) this.#end(grant, "the API key was revoked or has expired");
  }

  #end(grant: string, reason: string): void {
    this.#joints.get(grant)?.end(reason);
    this.#joints.delete(grant);
  }

  #forget(grant: string, joint: Joint): void {
    if (joint.over && this.#joints.get(grant) === joint) this.#joints.delete(grant);
  }
}
