import { once } from "node:events";
import net from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { stateFromGuest } from "./guest-states.ts";
import type { GuestFiles } from "./guest-transfers.ts";
import { TransferSockets } from "./transfer-sockets.ts";

const DUMPED = { size: 5, alive: true, language: "python", format: "f/1", variables: [], more: 0 };
const MINUTE_MS = 60_000;

afterEach(() => vi.useRealTimers());

/** A guest whose answer and whose dial come when the test says. */
function fakeGuest() {
  const answer = Promise.withResolvers<unknown>();
  const asked = Promise.withResolvers<string>();
  const transfers = new TransferSockets();
  const call = (_method: string, params: Record<string, unknown>) => {
    asked.resolve(params.transfer as string);
    return answer.promise;
  };
  return { guest: { transfers, call } as unknown as GuestFiles, transfers, answer, asked: asked.promise };
}

describe("variables out of a guest", () => {
  it("are expected for as long as a cell may run before them", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { guest, transfers, answer, asked } = fakeGuest();
    const saved = stateFromGuest(guest, { context: "main", on_busy: "wait" }, (stream) => text(stream));
    const id = await asked;
    await vi.advanceTimersByTimeAsync(30 * MINUTE_MS);
    const server = net.createServer((socket) => socket.end("bytes")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1");
    expect(transfers.attach(id, socket)).toBe(true);
    answer.resolve(DUMPED);
    expect(await saved).toEqual({ dumped: DUMPED, used: "bytes" });
    server.close();
  });

  it("are not expected for ever, nor when the guest has refused", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const silent = fakeGuest();
    const waiting = stateFromGuest(silent.guest, { context: "main", on_busy: "wait" }, text);
    const late = expect(waiting).rejects.toMatchObject({ code: "HOST_TIMEOUT" });
    await vi.advanceTimersByTimeAsync(31 * MINUTE_MS);
    await late;
    const busy = fakeGuest();
    const refused = stateFromGuest(busy.guest, { context: "main", on_busy: "wait" }, text);
    busy.answer.reject(new Error("busy"));
    await expect(refused).rejects.toThrow("busy");
    expect([silent.transfers.size, busy.transfers.size]).toEqual([0, 0]);
  });
});
