/** @module Every question that the daemon may ask, and who answers it. */
import { tar, untar } from "./archives.ts";
import type { Artifacts } from "./artifacts.ts";
import { CallError, refusal } from "./call-error.ts";
import type { Context } from "./context.ts";
import { Files } from "./files.ts";
import { CALLS_IN_FLIGHT, LINE_BYTES } from "./limits.ts";
import { complete, dumpState, state } from "./questions.ts";
import type { Storage } from "./storage.ts";
import type { Transfers } from "./transfers.ts";
import { watch } from "./watches.ts";

type Params = Record<string, unknown>;
type Method = (params: Params, answer: (result: object) => void) => object | Promise<object>;

export interface CallParts {
  readonly storage: Storage;
  readonly transfers: Transfers;
  readonly artifacts: Artifacts;
  context(name: unknown): Context | undefined;
  /** Files that a kernel has open to write, as `<device>:<inode>`. */
  openForWriting(): Set<string>;
  send(line: string): void;
}

export class Calls {
  readonly #parts: CallParts;
  readonly #methods: Record<string, Method>;
  #inFlight = 0;

  constructor(parts: CallParts) {
    const { storage, transfers, artifacts } = parts;
    const files = new Files(storage);
    this.#parts = parts;
    this.#methods = {
      ping: () => ({}),
      state: (params) => state(parts.context(params.context), params),
      complete: (params) => complete(parts.context(params.context), params),
      "state.dump": (params) => dumpState(parts.context(params.context)),
      "fs.stat": (params) => files.stat(params),
      "fs.list": (params) => files.list(params),
      "fs.mkdir": (params) => files.mkdir(params),
      "fs.move": (params) => files.move(params),
      "fs.remove": (params) => files.remove(params),
      "fs.read": (params, answer) => transfers.read(params, answer),
      "fs.write": (params) => transfers.write(params),
      "fs.tar": (params) => tar(transfers, storage, params),
      "fs.untar": (params) => untar(transfers, storage, params),
      "fs.watch": (params, answer) => watch(transfers, storage, params, answer),
      "artifacts.scan": () => artifacts.scan(),
      "artifacts.read": (params, answer) =>
        transfers.readArtifacts(artifacts, () => parts.openForWriting(), params, answer),
      "artifacts.settle": (params) => artifacts.settle(params),
    };
  }

  async handle({ id, method, params }: { id?: unknown; method?: unknown; params?: unknown }): Promise<void> {
    const ident = String(id);
    let answered = false;
    const reply = (message: object) => {
      if (answered) return;
      answered = true;
      const line = JSON.stringify({ type: "answer", id: ident, ...message });
      const fits = Buffer.byteLength(line) < LINE_BYTES;
      const tooLarge = { type: "answer", id: ident, error: "the answer is too large", code: "TOO_LARGE" };
      this.#parts.send(`${fits ? line : JSON.stringify(tooLarge)}\n`);
    };
    this.#inFlight++;
    try {
      if (this.#inFlight > CALLS_IN_FLIGHT) throw new CallError("BUSY", "too many calls in flight");
      const handler = this.#methods[String(method)];
      if (!handler) throw unknown(String(method));
      reply({ result: await handler((params ?? {}) as Params, (result) => reply({ result })) });
    } catch (error) {
      const { message, code } = refusal(error);
      reply({ error: message, code });
    } finally {
      this.#inFlight--;
    }
  }
}

function unknown(method: string): CallError {
  if (/^(ps|tunnel|ports)\./.test(method))
    return new CallError(
      "UNSUPPORTED_BY_ENGINE",
      "a session in WebAssembly has no processes, terminals and ports",
    );
  return new CallError("UNKNOWN_METHOD", "the guest has no such method");
}
