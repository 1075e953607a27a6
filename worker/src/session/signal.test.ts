import { expect, it } from "vitest";
import { Signal } from "./signal.ts";

it("wakes everyone who waits for the topic, and nobody else", async () => {
  const signal = new Signal();
  const [a, b, other] = [signal.wait("x"), signal.wait("x", 10_000), signal.wait("y", 5)];
  signal.wake("x");
  expect(await Promise.all([a, b, other])).toEqual([true, true, false]);
});

it("lets whoever waits again in the same moment wait for the next time", async () => {
  const signal = new Signal();
  let woken = 0;
  const loop = (async () => {
    while (woken < 2) if (await signal.wait("x")) woken++;
  })();
  signal.wake("x");
  await Promise.resolve();
  await Promise.resolve();
  expect(woken).toBe(1);
  signal.wake("x");
  await loop;
  expect(woken).toBe(2);
});
