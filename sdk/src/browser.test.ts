import { build } from "esbuild";
import { expect, it } from "vitest";
import { Sandbar } from "./client.ts";
import { fakeServer, json } from "./fake-server.test-support.ts";

it("the SDK is a browser's module: no Node in it, and no code from strings, which the policy forbids", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: [`${import.meta.dirname}/index.ts`],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "silent",
  });
  // Anything of Node's would have failed the build, or be left as an import.
  const imported = Object.values(metafile.inputs).flatMap(({ imports }) => imports);
  expect(imported.filter(({ external }) => external)).toEqual([]);
  const text = outputFiles[0]!.text;
  expect(text).not.toMatch(/\bnew Function\b|\beval\(/);
  const loaded = await import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
  const sandbar = new loaded.Sandbar({ url: "http://127.0.0.1", credentials: "cookie" });
  expect(sandbar.http.authorization).toEqual({});
});

it("a client with the browser's cookie sends no key", async () => {
  const { client, received, close } = await fakeServer([json(200, { tenant: "t" })]);
  const cookie = new Sandbar({ url: client.url, credentials: "cookie" });
  expect(await cookie.me()).toEqual({ tenant: "t" });
  expect(received[0]!.headers.authorization).toBeUndefined();
  await close();
});

it("its options are a key or the cookie, not both and not neither", () => {
  // @ts-expect-error Neither.
  expect(new Sandbar({ url: "http://127.0.0.1" })).toBeTruthy();
  // @ts-expect-error Both.
  expect(new Sandbar({ url: "http://127.0.0.1", apiKey: "a", credentials: "cookie" })).toBeTruthy();
});
