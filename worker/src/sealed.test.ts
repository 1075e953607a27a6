import { expect, it } from "vitest";
import { resealed, seal, unseal } from "./sealed.ts";

const secret = { authorization: "Bearer abc" };

it("what is sealed shows nothing, and opens with its key only", async () => {
  const text = await seal({ SECRETS_KEY: "one" }, secret);
  expect(text).not.toContain("abc");
  expect(await seal({ SECRETS_KEY: "one" }, secret)).not.toBe(text);
  expect(await unseal({ SECRETS_KEY: "one" }, text)).toEqual(secret);
  await expect(unseal({ SECRETS_KEY: "two" }, text)).rejects.toThrow("SECRETS_KEY");
  await expect(seal({}, secret)).rejects.toThrow("SECRETS_KEY is not set");
});

it("a key is replaced without loss: the first seals, all open, and what is old is sealed anew", async () => {
  const old = await seal({ SECRETS_KEY: "one" }, secret);
  const both = { SECRETS_KEY: "two\none\n" };
  expect(await unseal(both, old)).toEqual(secret);
  const renewed = (await resealed(both, old))!;
  expect(await unseal({ SECRETS_KEY: "two" }, renewed)).toEqual(secret);
  expect(await resealed(both, renewed)).toBeNull();
});

it("what was stored before there was a key is read, and sealed when it can be", async () => {
  const plain = `plain:${btoa(JSON.stringify(secret))}`;
  expect(await unseal({}, plain)).toEqual(secret);
  expect(await resealed({}, plain)).toBeNull();
  expect(await unseal({ SECRETS_KEY: "one" }, (await resealed({ SECRETS_KEY: "one" }, plain))!)).toEqual(
    secret,
  );
});
