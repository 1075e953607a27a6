import { expect, it } from "vitest";
import { Lanes } from "./lanes.ts";

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

it("keeps the order within a lane, while a slow lane holds up no other", async () => {
  const lanes = new Lanes(100);
  const done: string[] = [];
  const work = (name: string, ms: number) => async () => {
    await pause(ms);
    done.push(name);
  };
  await Promise.all([
    lanes.run("a", 1, work("a1", 20)),
    lanes.run("a", 1, work("a2", 0)),
    lanes.run("b", 1, work("b1", 1)),
  ]);
  expect(done).toEqual(["b1", "a1", "a2"]);
});

it("goes on after work that failed", async () => {
  const lanes = new Lanes(100);
  const failed = lanes.run("a", 1, () => Promise.reject(new Error("no")));
  const next = lanes.run("a", 1, () => Promise.resolve());
  await expect(failed).rejects.toThrow("no");
  await next;
});

it("is full when too much waits, and not for ever", async () => {
  const lanes = new Lanes(10);
  const first = lanes.run("a", 11, () => pause(1));
  expect(lanes.full).toBe(true);
  await first;
  expect(lanes.full).toBe(false);
});
