import { SandbarError } from "@sandbar/shared";
import { expect, it } from "vitest";
import { patientAnswer } from "./patient-answer.ts";

const after = (ms: number, error?: Error) =>
  new Promise<void>((resolve, reject) => setTimeout(() => (error ? reject(error) : resolve()), ms));
const code = ({ code }: { code: string }) => ({ code });

it("work that ends soon is answered as it ends", async () => {
  expect(await patientAnswer(Promise.resolve(), code, "req_1")).toBeNull();
  const wrong = Promise.reject(new SandbarError("VALIDATION_FAILED"));
  await expect(patientAnswer(wrong, code, "req_1")).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
});

it("work that lasts keeps the line busy, and is answered in the body", async () => {
  const good = await new Response(await patientAnswer(after(100), code, "req_1", 1, 5)).text();
  expect(good).toMatch(/^ +\{\}$/);
  const lost = new SandbarError("STORE_UNAVAILABLE");
  const bad = await new Response(await patientAnswer(after(100, lost), code, "req_1", 1, 5)).text();
  expect(bad).toMatch(/^ +\{/);
  expect(JSON.parse(bad)).toEqual({ code: "STORE_UNAVAILABLE" });
});
