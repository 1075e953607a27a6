import { expect, it } from "vitest";
import { placeFor, UNPROVEN_LIMIT, type UnprovenSocket } from "./unproven.ts";

const NOW = 1_000_000;
const flood = (count: number, age: number, network = "10.0.0.1"): UnprovenSocket[] =>
  Array.from({ length: count }, (_, index) => ({ network, opened_at: NOW - age - index }));

it("there is room for some", () => {
  expect(placeFor(flood(UNPROVEN_LIMIT - 1, 5_000), NOW)).toBe("free");
});

it("who opened most gives up the oldest, and a daemon at another address stays", () => {
  const daemon = { network: "10.0.0.2", opened_at: NOW - 9_000 };
  const sockets = [daemon, ...flood(UNPROVEN_LIMIT - 1, 5_000)];
  expect(placeFor(sockets, NOW)).toBe(sockets.at(-1));
});

it("a daemon that has just dialled is never put out, also not by its own neighbours", () => {
  expect(placeFor(flood(UNPROVEN_LIMIT, 100), NOW)).toBe("none");
  const daemon = { network: "10.0.0.1", opened_at: NOW - 1_000 };
  expect(placeFor([daemon, ...flood(UNPROVEN_LIMIT, 2_500)], NOW)).not.toBe(daemon);
});
