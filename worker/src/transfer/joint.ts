/**
 * Where one transfer's two sides meet: whoever gives the bytes and whoever takes them, each once. Nothing is buffered: the
 * slower side sets the pace, a cut on one is a cut on the other.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import { drain } from "../drain.ts";

export type Side = "client" | "agent";

export interface TransferPlan {
  readonly giver: Side;
  readonly taker: Side;
  readonly tenant: string;
  /** Whose credential asked for it: with that it ends. */
  readonly key: string;
  /** Sessions whose idle time stands still while bytes move. */
  readonly sessions: readonly string[];
  /** What the giver has, when that is known before it comes. */
  readonly size: number | null;
  /** Of a giver that does not say how much it has. */
  readonly maxBytes: number;
  /** How long it waits for the giver, if not the usual time. */
  readonly unusedMs?: number;
}

type Bytes = ReadableStream<Uint8Array>;

export class Joint {
  readonly plan: TransferPlan;
  readonly #offer = Promise.withResolvers<Bytes>();
  readonly #abort = new AbortController();
  #given: "no" | "running" | "over" = "no";
  #taken = false;

  constructor(plan: TransferPlan) {
    this.plan = plan;
    this.#offer.promise.catch(() => {});
  }

  get running(): boolean {
    return this.#given === "running" && this.#taken;
  }

  /** Nothing is left to come. */
  get over(): boolean {
    return this.#abort.signal.aborted || (this.#given === "over" && this.#taken);
  }

  mayGive(side: Side): boolean {
    return this.plan.giver === side && this.#given === "no";
  }

  mayTake(side: Side): boolean {
    return this.plan.taker === side && !this.#taken;
  }

  end(reason: string): void {
    this.#abort.abort(new Error(reason));
    this.#offer.reject(new Error(reason));
  }

  async take(): Promise<Response> {
    this.#taken = true;
    try {
      const bytes = await this.#offer.promise;
      return new Response(bytes, { headers: { "Content-Type": "application/octet-stream" } });
    } catch (error) {
      return new Response(String(error), { status: 504 });
    }
  }

  async give(request: Request): Promise<Response> {
    this.#given = "running";
    const header = request.headers.get("Content-Length");
    const length = this.plan.size ?? (header === null ? null : Number(header));
    try {
      const body = request.body ?? new Blob([]).stream();
      if (length === null && this.plan.giver === "client") await this.#giveCounted(body);
      else
        await this.#pipe(
          body,
          length === null ? new IdentityTransformStream() : new FixedLengthStream(length),
        );
      return new Response(null, { status: 204 });
    } catch (error) {
      // Nobody waits for what will not come.
      this.#offer.reject(error);
      if (this.plan.giver === "client") await drain(request.body);
      return new Response(String(error), { status: error instanceof SandbarError ? 413 : 502 });
    } finally {
      this.#given = "over";
    }
  }

  /** The runtime moves these bytes by itself, outside of JavaScript. */
  async #pipe(body: Bytes, { readable, writable }: IdentityTransformStream): Promise<void> {
    this.#offer.resolve(readable);
    const options = { preventCancel: this.plan.giver === "client", signal: this.#abort.signal };
    await body.pipeTo(writable, options);
  }

  /** A client that does not say how much it sends is counted. */
  async #giveCounted(body: Bytes): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { signal } = this.#abort;
    const { maxBytes } = this.plan;
    const reader = body.getReader();
    let count = 0;
    const readable = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener("abort", () => {
          controller.error(signal.reason);
          reject(signal.reason);
        });
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            resolve();
          } else {
            count += value.byteLength;
            if (count > maxBytes) throw new SandbarError("PAYLOAD_TOO_LARGE");
            controller.enqueue(value);
          }
        } catch (error) {
          controller.error(error);
          reject(error);
        }
      },
      cancel: (reason) => reject(reason ?? new Error("the taker has gone")),
    });
    this.#offer.resolve(readable);
    try {
      await promise;
    } finally {
      reader.releaseLock();
    }
  }
}
