import { expect, it } from "vitest";
import { currentKey, rotateSigningKeys } from "../../worker/src/artifacts/signing-keys.ts";
import { resealSecrets } from "../../worker/src/settings/reseal.ts";
import { openToken, signedToken } from "../../worker/src/signed-token.ts";
import { bindings } from "./client.ts";

const of = { audience: "test", subject: "me" };
const later = () => Math.floor(Date.now() / 1000) + 60;
const stored = () => bindings.DB.prepare("SELECT secret FROM signing_keys").first<string>("secret");
/** As another isolate would look. */
const anew = () => rotateSigningKeys(bindings.DB, 24 * 3600_000);

it("a signing key is of no use to whoever has only the database", async () => {
  await currentKey(bindings);
  expect(await stored()).toMatch(/^aes2:/);
  const token = await signedToken(bindings, of, {}, later());
  await anew();
  expect(await openToken({ ...bindings, SECRETS_KEY: "another" }, token, of)).toBeNull();
  await anew();
  expect((await openToken(bindings, token, of))?.sub).toBe("me");
});

it("keys of before are sealed by the schedule, and what they have signed stays good", async () => {
  const secret = btoa("k".repeat(32));
  await bindings.DB.prepare("UPDATE signing_keys SET secret = ?").bind(`raw:${secret}`).run();
  await anew();
  const token = await signedToken(bindings, of, {}, later());
  await resealSecrets(bindings);
  expect(await stored()).toMatch(/^aes2:/);
  await anew();
  expect((await openToken(bindings, token, of))?.sub).toBe("me");
});
