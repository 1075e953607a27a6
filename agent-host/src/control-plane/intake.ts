/**
 * What the control plane sends: commands in the order of their numbers, each journaled by its receiver before it is
 * acknowledged; anything else at once.
 *
 * @module
 */
import type { Command, ServerFrame } from "@sandbar/shared";
import { CommandAcks } from "./command-acks.ts";
import type { Link } from "./link.ts";
import { CommandOrder } from "./order.ts";

/** An earlier command that does not come within this time is asked for by a new connection. */
const GAP_MS = 5000;

type Frame<T extends ServerFrame["t"]> = Extract<ServerFrame, { t: T }>;

export interface IntakeReceiver {
  /** The number of the last command that was journaled. */
  lastN(): number;
  /** Journals the command before it returns. */
  accept(n: number, session: string, command: Command): void;
  /** A command that this version cannot read must not hold up all that come after it. */
  skip(n: number): void;
  onAck(frame: Frame<"ack">): void;
  onResend(frame: Frame<"resend">): void;
  onSessionAck(frame: Frame<"session.ack">): void;
  onCall(frame: Frame<"call">): void;
}

export class Intake {
  readonly #link: Pick<Link, "send" | "drop">;
  readonly #receiver: IntakeReceiver;
  readonly #acks: CommandAcks;
  #order: CommandOrder<Frame<"command"> | null>;
  #gap: NodeJS.Timeout | null = null;

  constructor(link: Pick<Link, "send" | "drop">, receiver: IntakeReceiver) {
    this.#link = link;
    this.#receiver = receiver;
    this.#acks = new CommandAcks((n) => link.send({ t: "ack", n }));
    this.#order = new CommandOrder(receiver.lastN());
  }

  /** On this connection everything comes again that was not acknowledged. */
  onWelcome(): void {
    this.#order = new CommandOrder(this.#receiver.lastN());
    this.#watchGap();
  }

  onFrame(frame: ServerFrame): void {
    switch (frame.t) {
      case "command":
        this.#place(frame.n, frame);
        break;
      case "ack":
        this.#receiver.onAck(frame);
        break;
      case "resend":
        this.#receiver.onResend(frame);
        break;
      case "session.ack":
        this.#receiver.onSessionAck(frame);
        break;
      case "call":
        this.#receiver.onCall(frame);
        break;
    }
  }

  onUnreadableCommand(n: number): void {
    this.#place(n, null);
  }

  #place(n: number, frame: Frame<"command"> | null): void {
    const placed = this.#order.place(n, frame);
    if (placed.kind === "seen") this.#acks.add(n);
    else if (placed.kind === "overflow") this.#link.drop("too many commands from the future");
    else if (placed.kind === "ready") {
      for (const { n: next, item } of placed.items) {
        if (item) this.#receiver.accept(next, item.session, item.command);
        else this.#receiver.skip(next);
        this.#acks.add(next);
      }
    }
    this.#watchGap();
  }

  #watchGap(): void {
    if (!this.#order.gap) {
      if (this.#gap) clearTimeout(this.#gap);
      this.#gap = null;
    } else this.#gap ??= setTimeout(() => this.#link.drop("a command is missing"), GAP_MS);
  }
}
