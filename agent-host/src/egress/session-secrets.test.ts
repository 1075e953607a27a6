import type { SecretValues } from "@sandbar/shared";
import { expect, it } from "vitest";
import { SessionSecrets } from "./session-secrets.ts";

const target = { host: "api.test", port: 443 };
const answer = (version: number): SecretValues => ({
  version,
  values: [{ host: "api.test", header: "X-Key", value: `of ${version}` }],
});

it("has nobody wait for an answer that is of older rules than theirs", async () => {
  const questions: PromiseWithResolvers<SecretValues>[] = [];
  const secrets = new SessionSecrets(() => {
    questions.push(Promise.withResolvers());
    return questions.at(-1)!.promise;
  });
  const before = secrets.headersFor(target, 1);
  const after = [secrets.headersFor(target, 2), secrets.headersFor(target, 2)];
  expect(questions).toHaveLength(1);
  questions[0]!.resolve(answer(1));
  expect(await before).toEqual(["X-Key", "of 1"]);
  await expect.poll(() => questions.length).toBe(2);
  questions[1]!.resolve(answer(2));
  for (const one of after) expect(await one).toEqual(["X-Key", "of 2"]);
  expect(await secrets.headersFor(target, 2)).toEqual(["X-Key", "of 2"]);
  expect(questions).toHaveLength(2);
});

it("takes the answer to a question of its own, whatever its version", async () => {
  let asked = 0;
  const secrets = new SessionSecrets(async () => answer(++asked && 1));
  expect(await secrets.headersFor(target, 5)).toEqual(["X-Key", "of 1"]);
  expect(asked).toBe(1);
});
