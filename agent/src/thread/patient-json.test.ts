import { expect, it } from "vitest";
import { patientJson } from "./patient-json.ts";

const after = (ms: number, text: string) => new Promise<string>((resolve) => setTimeout(resolve, ms, text));

it("white space comes before JSON that takes long", async () => {
  const text = await new Response(patientJson(after(60, '{"a":1}'), { everyMs: 5 })).text();
  expect(text).toMatch(/^ +\{"a":1\}$/);
  expect(JSON.parse(text)).toEqual({ a: 1 });
  expect(await new Response(patientJson(Promise.resolve("null"))).text()).toBe("null");
});

it("tells when the reader has gone, and what went wrong", async () => {
  let gone = false;
  const left = () => {
    gone = true;
  };
  const stream = patientJson(after(1_000, "late"), { everyMs: 1, left });
  await stream.getReader().cancel();
  expect(gone).toBe(true);
  await expect(new Response(patientJson(Promise.reject(new Error("no")))).text()).rejects.toThrow("no");
});
