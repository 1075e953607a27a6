/** @module Variables out of a context of a sandbox, and into another one, as the daemon would carry them. */
import type { Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import type { GuestAnswer } from "../../shared/src/wire/guest-calls.ts";
import { GUEST_ANSWERS } from "../../shared/src/wire/guest-calls.ts";
import type { FakeDaemon } from "./fixture.ts";

let counter = 0;

export class Refused extends Error {
  readonly code: string | undefined;
  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

export async function dump(
  box: FakeDaemon,
  context: string,
  params: Record<string, unknown> = {},
  take: (socket: Socket) => Promise<Buffer> = (socket) => buffer(socket),
): Promise<GuestAnswer<"state.dump"> & { bytes: Buffer }> {
  const transfer = `dump_${++counter}`;
  const taken = Promise.withResolvers<Buffer>();
  taken.promise.catch(() => {});
  box.transfers.set(transfer, (socket) => void take(socket).then(taken.resolve, taken.reject));
  const answer = await box.call("state.dump", { context, transfer, ...params });
  if (answer.error !== undefined) throw new Refused(answer.error, answer.code);
  const result = GUEST_ANSWERS["state.dump"].parse(answer.result);
  // The answer may be read before the connection on which the bytes came.
  return { ...result, bytes: result.format === null ? Buffer.alloc(0) : await taken.promise };
}

export async function load(
  box: FakeDaemon,
  context: string,
  language: string,
  format: string,
  give: Buffer | ((socket: Socket) => void),
  params: Record<string, unknown> = {},
): Promise<GuestAnswer<"state.load">> {
  const transfer = `load_${++counter}`;
  box.transfers.set(transfer, (socket) => {
    socket.on("error", () => {});
    socket.resume();
    if (typeof give === "function") give(socket);
    else socket.end(give);
  });
  const answer = await box.call("state.load", { context, language, format, transfer, ...params });
  if (answer.error !== undefined) throw new Refused(answer.error, answer.code);
  return GUEST_ANSWERS["state.load"].parse(answer.result);
}

/** What became of each variable, for short. */
export function fates(answer: GuestAnswer<"state.load"> | GuestAnswer<"state.dump">) {
  return Object.fromEntries(
    answer.variables.map(({ name, status, reason }) => [name, reason ? `${status}: ${reason}` : status]),
  );
}
