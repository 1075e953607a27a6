import { afterAll, beforeAll, expect, it } from "vitest";
import { sha256 } from "../fixtures/sha256.ts";
import { Sandbox } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start({});
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

const A = "/session/artifacts";

/** The hashes that the end of this code said, by name. */
async function said(code: string): Promise<Record<string, string | undefined>> {
  const { done } = await box.run(
    `import os, shutil\nshutil.rmtree("${A}", ignore_errors=True); os.makedirs("${A}")\n${code}`,
  );
  expect(done.status).toBe("ok");
  return Object.fromEntries(
    done.artifacts.map(({ path_b64, sha256: hash }) => [Buffer.from(path_b64, "base64").toString(), hash]),
  );
}

it("the end of an execution says the hashes of few and small artifacts", async () => {
  expect(
    await said(
      `os.makedirs("${A}/in"); open("${A}/in/a", "w").write("abc"); open("${A}/empty", "w").close(); os.symlink("in/a", "${A}/link")`,
    ),
  ).toEqual({ "in/a": sha256("abc"), empty: sha256(""), link: undefined });
  const exact = 2 * 1024 * 1024;
  expect(await said(`open("${A}/large", "wb").write(bytes(${exact}))`)).toEqual({
    large: sha256(new Uint8Array(exact)),
  });
});

it("and not those of many or large ones, which would keep it waiting", async () => {
  const many = await said(`for i in range(17): open(f"${A}/{i}", "w").write("x")`);
  expect(Object.values(many)).toEqual(Array(17).fill(undefined));
  const large = await said(`open("${A}/large", "wb").write(bytes(2 * 1024 * 1024 + 1))`);
  expect(large).toEqual({ large: undefined });
});

it("a file that cannot be read has none, and takes none from its neighbours", async () => {
  const hashes = await said(
    `open("${A}/shut", "w").write("x"); os.chmod("${A}/shut", 0); open("${A}/open", "w").write("y")`,
  );
  expect(hashes).toEqual({ shut: undefined, open: sha256("y") });
});
