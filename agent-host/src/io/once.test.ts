import { expect, it } from "vitest";
import { Once } from "./once.ts";

it("does the same once, whether it still goes on, went well or failed", async () => {
  const once = new Once();
  let times = 0;
  const going = Promise.withResolvers<number>();
  const first = once.do("a", () => {
    times++;
    return going.promise;
  });
  const again = once.do("a", async () => ++times);
  going.resolve(7);
  expect(await Promise.all([first, again, once.do("a", async () => ++times)])).toEqual([7, 7, 7]);
  const failed = () => once.do("b", () => Promise.reject(new Error("no such file")));
  await expect(failed()).rejects.toThrow("no such file");
  await expect(once.do("b", async () => ++times)).rejects.toThrow("no such file");
  expect(times).toBe(1);
});
