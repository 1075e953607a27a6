/**
 * Tunnels: each joins a client's WebSocket with the daemon's under a grant, a secret that works once. The two ends of one
 * pair go to the two sides and are accepted by neither, so the runtime itself passes the messages on, at the pace of
 * whoever is slower, and a close on one side is a close on the other. Like transfers, a few objects share all grants.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { ERRORS } from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import { RECHECK_MS, stillGood } from "../auth.ts";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";

const UNUSED_MS = 15_000;
/** A tunnel that its daemon has not spoken of for so long is over. */
const FORGET_MS = 10 * 60_000;

/** The object of a grant: one of 64, by the secret's first character. */
export const tunnelObject = (env: Env, grant: string) => env.TUNNELS.getByName(grant.slice(0, 5));

export interface TunnelPlan {
  readonly tenant: string;
  readonly session: string;
  /** Whose credential opened it: with that it ends. */
  readonly key: string;
}

interface Meeting {
  readonly plan: TunnelPlan;
  readonly joined: PromiseWithResolvers<{ socket: WebSocket; protocol: string }>;
  used: boolean;
  /** Its host was asked to close it and has not answered. */
  closing: boolean;
  timer: ReturnType<typeof setTimeout> | null;
}

export class TunnelObject extends DurableObject<Env> {
  readonly #meetings = new Map<string, Meeting>();
  #checking = false;

  /** Before anybody hears of the grant. */
  async open(grant: string, plan: TunnelPlan): Promise<void> {
    const joined = Promise.withResolvers<{ socket: WebSocket; protocol: string }>();
    joined.promise.catch(() => {});
    this.#meetings.set(grant, { plan, joined, used: false, closing: false, timer: null });
    this.#endIn(grant, FORGET_MS);
    if (!this.#checking) void this.#endRevoked();
  }

  /** The daemon was told: it comes within moments or not at all. */
  async expect(grant: string): Promise<void> {
    if (this.#meetings.get(grant)?.used === false) this.#endIn(grant, UNUSED_MS);
  }

  async cancel(grant: string): Promise<void> {
    this.#end(grant, "cancelled");
  }

  /** The host of the URL is who comes, the path is the grant. */
  override async fetch(request: Request): Promise<Response> {
    const { hostname, pathname } = new URL(request.url);
    const grant = pathname.slice(1);
    const meeting = this.#meetings.get(grant);
    if (!meeting) return new Response("No such tunnel", { status: 404 });
    if (hostname === "client") return this.#client(meeting);
    if (request.method === "PUT") {
      this.#endIn(grant, FORGET_MS);
      await sessionObject(this.env, meeting.plan.tenant, meeting.plan.session).touch();
      return new Response(null, { status: 204 });
    }
    if (meeting.used) return new Response("No such tunnel", { status: 404 });
    meeting.used = true;
    this.#endIn(grant, FORGET_MS);
    const { 0: theirs, 1: ours } = new WebSocketPair();
    const protocol = decodeURIComponent(request.headers.get("x-sandbar-protocol") ?? "");
    meeting.joined.resolve({ socket: theirs, protocol });
    return new Response(null, { status: 101, webSocket: ours });
  }

  async #client({ joined }: Meeting): Promise<Response> {
    try {
      const { socket, protocol } = await joined.promise;
      const headers: HeadersInit = protocol ? { "Sec-WebSocket-Protocol": protocol } : {};
      return new Response(null, { status: 101, webSocket: socket, headers });
    } catch (error) {
      return new Response(String(error), { status: 504 });
    }
  }

  #endIn(grant: string, ms: number): void {
    const meeting = this.#meetings.get(grant);
    if (!meeting) return;
    if (meeting.timer !== null) clearTimeout(meeting.timer);
    meeting.timer = setTimeout(() => this.#end(grant, "the host did not connect"), ms);
  }

  #end(grant: string, reason: string): void {
    const meeting = this.#meetings.get(grant);
    if (!meeting) return;
    if (meeting.timer !== null) clearTimeout(meeting.timer);
    this.#meetings.delete(grant);
    meeting.joined.reject(new Error(reason));
  }

  /** The ends of a pair that were given away can be closed by those who have them only: the daemon is asked to. */
  async #endRevoked(): Promise<void> {
    this.#checking = true;
    while (this.#meetings.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, RECHECK_MS));
      // Not awaited: a host that does not answer is no reason to leave other tunnels open.
      for (const [grant, meeting] of this.#meetings) void this.#check(grant, meeting);
    }
    this.#checking = false;
  }

  async #check(grant: string, meeting: Meeting): Promise<void> {
    const { plan, used } = meeting;
    if (meeting.closing || (await stillGood(this.env.DB, plan.key))) return;
    meeting.closing = true;
    const answer = used ? await this.#closeAtHost(grant, plan) : ok({});
    meeting.closing = false;
    if (!("failure" in answer) || !ERRORS[answer.failure.code].retryable)
      this.#end(grant, "the API key was revoked or has expired");
  }

  #closeAtHost(grant: string, { tenant, session }: TunnelPlan): Promise<Answer<unknown>> {
    return sessionObject(this.env, tenant, session)
      .ask("tunnels.close", { grant })
      .catch((error) => refuse("HOST_UNREACHABLE", String(error)));
  }
}
