/** @module What others may reach in a session: its guest's answers, and the connections that the guest dials for them. */
import type { GuestAnswer, GuestMethod } from "@sandbar/shared";
import type { IngestSession } from "../artifacts/artifact-ingest.ts";
import type { DatasetSession } from "../datasets/datasets.ts";
import { codeEnv } from "../egress/code-env.ts";
import type { SessionNetwork } from "../egress/session-network.ts";
import type { BoxUsage } from "../engine/box.ts";
import type { TransferSockets } from "../guest/transfer-sockets.ts";
import { hasEnded, type SessionRow } from "../journal/journal.ts";
import type { MeteredSession } from "../metrics/metrics.ts";
import type { ProcessGuest } from "../processes/process-calls.ts";
import type { SessionGuest } from "./session-guest.ts";

export class SessionAccess implements IngestSession, DatasetSession, ProcessGuest, MeteredSession {
  readonly row: SessionRow;
  /** Its way out; null for a session without rules. */
  readonly network: Pick<SessionNetwork, "state" | "hold"> | null;
  readonly #guest: SessionGuest;

  constructor(row: SessionRow, guest: SessionGuest, network: Pick<SessionNetwork, "state" | "hold"> | null) {
    this.row = row;
    this.#guest = guest;
    this.network = network;
  }

  get id(): string {
    return this.row.id;
  }

  get tenant(): string {
    return this.row.tenant;
  }

  get terminal(): boolean {
    return hasEnded(this.row);
  }

  get env(): Record<string, string> {
    return codeEnv(this.row.spec);
  }

  get idleMs(): number {
    return this.row.spec.idle_ttl_s * 1000;
  }

  get transfers(): TransferSockets {
    return this.#guest.channel.transfers;
  }

  get tunnels(): TransferSockets {
    return this.#guest.channel.tunnels;
  }

  get artifactTransfers(): TransferSockets {
    return this.#guest.channel.artifacts;
  }

  /** A folder of the host is not counted: that would mean to walk through it. */
  async usage(): Promise<BoxUsage | null> {
    const usage = await this.#guest.usage();
    return usage && this.row.spec.storage === "BIND" ? { ...usage, diskBytes: null } : usage;
  }

  call<M extends GuestMethod>(
    method: M,
    params: Record<string, unknown>,
    timeoutMs?: number,
  ): Promise<GuestAnswer<M>> {
    return this.#guest.call(method, params, timeoutMs);
  }
}
