import { expect, it } from "vitest";
import { Turns } from "./turns.ts";

it("only so many work at a time, the others in order, without those that left", async () => {
  const turns = new Turns(2);
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string, signal?: AbortSignal) =>
    turns.take(() => {
      began.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    }, signal);
  const leaving = new AbortController();
  const all = [work("a"), work("b"), work("c", leaving.signal), work("d"), work("e", leaving.signal)];
  const left = Promise.allSettled([all[2], all[4]]);
  expect(began).toEqual(["a", "b"]);
  leaving.abort(new Error("gone"));
  expect((await left).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  ends.get("a")!();
  await all[0];
  expect(began).toEqual(["a", "b", "d"]);
  await expect(work("f", leaving.signal)).rejects.toThrow("gone");
  ends.get("b")!();
  ends.get("d")!();
  await Promise.all([all[1], all[3]]);
  const last = [work("g"), work("h"), work("i")];
  expect(began.slice(3)).toEqual(["g", "h"]);
  for (const name of ["g", "h"]) ends.get(name)!();
  await Promise.all(last.slice(0, 2));
  expect(began.at(-1)).toBe("i");
  ends.get("i")!();
  await last[2];
});
