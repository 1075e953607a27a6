/** @module From the daemon's frames to the sessions they concern, and the answers back. */
import type { HostFrame, ServerFrame, SessionReport } from "@sandbar/shared";
import type { Env } from "../env.ts";
import { sessionObject } from "../rpc.ts";
import type { Envelope } from "../session/envelope.ts";
import type { ReportAnswer } from "../session/executions.ts";
import type { Reply } from "../session/outgoing.ts";
import type { Outbox } from "./outbox.ts";
import type { Placed } from "./placed.ts";

type Frame<T extends HostFrame["t"]> = Extract<HostFrame, { t: T }>;

export interface RelayLink {
  send(frame: ServerFrame): void;
  /** Puts a command into the outbox and on the socket. */
  command(session: string, envelope: Envelope): void;
  /** Orders the daemon to remove a session that has ended or that nobody knows. */
  stop(session: string): void;
}

export class Relay {
  readonly #env: Env;
  readonly #placed: Placed;
  readonly #outbox: Outbox;
  readonly #link: RelayLink;

  constructor(env: Env, placed: Placed, outbox: Outbox, link: RelayLink) {
    this.#env = env;
    this.#placed = placed;
    this.#outbox = outbox;
    this.#link = link;
  }

  async report({ session, execution, events, outcome }: Frame<"report">): Promise<void> {
    const object = this.#object(session);
    const answer: ReportAnswer = (await object?.report(execution, events, outcome)) ?? {
      // Nobody will ever read this; the daemon need not keep it.
      ack: events.at(-1)?.seq ?? 0,
      final: outcome !== null,
    };
    // The next run first: somebody waits for it.
    if (answer.next) this.#link.command(session, answer.next);
    this.reply(session, { execution, ...answer });
  }

  /** What a session has to say to the daemon's report. */
  reply(session: string, reply: Reply): void {
    const { execution } = reply;
    this.#link.send(
      "resend" in reply
        ? { t: "resend", session, execution, seq: reply.resend }
        : { t: "ack", session, execution, seq: reply.ack, final: reply.final },
    );
  }

  async session(session: string, report: SessionReport): Promise<void> {
    const object = this.#object(session);
    const ended = object ? await object.hostReport(report) : true;
    if (report.state === "failed" || report.state === "died" || report.state === "stopped") {
      this.#placed.remove(session);
      this.#link.send({ t: "session.ack", session, state: report.state });
    } else if (ended) this.#link.stop(session);
  }

  async progress({ session, step, detail }: Frame<"progress">): Promise<void> {
    await this.#object(session)?.progress(step.slice(0, 256), detail.slice(0, 8_000));
  }

  async network({ session, connections, dropped, carried }: Frame<"network">): Promise<void> {
    await this.#object(session)?.networkUsed(connections, dropped, carried);
  }

  /** Sessions that were placed here, whose creation the daemon has had, and that it does not name. */
  missing(named: ReadonlySet<string>): string[] {
    const creating = this.#outbox.creating();
    return [...this.#placed.all.keys()].filter((session) => !named.has(session) && !creating.has(session));
  }

  async died(session: string): Promise<void> {
    const error = { name: "CONTAINER_DIED", value: "The host no longer has the session", traceback: "" };
    await this.#object(session)?.hostReport({ state: "died", error });
    this.#placed.remove(session);
  }

  #object(session: string) {
    const tenant = this.#placed.all.get(session);
    return tenant === undefined ? null : sessionObject(this.#env, tenant, session);
  }
}
