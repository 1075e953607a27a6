import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useStack } from "../fixtures/use-stack.ts";

const WAIT = 180_000;
const WHEEL = "sandgrain-1.2.0-py3-none-any.whl";
/** A package that shows itself as DataFrames do; the distribution's own host cannot be reached from here. */
const MAKE_WHEEL = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("sandgrain.py", "class Grain:\\n    def _repr_html_(self): return '<b>grain</b>'\\n")
    info = "sandgrain-1.2.0.dist-info/"
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: sandgrain\\nVersion: 1.2.0\\nRequires-Dist: six; sys_platform == 'emscripten'\\nRequires-Dist: no-such-package-of-anybody; sys_platform == 'linux'\\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(info + "RECORD", "")
`;

describe("packages of a session in WebAssembly", () => {
  const index = mkdtempSync(join(tmpdir(), "sandbar-pyodide-"));
  const { stack, client } = useStack({
    agentEnv: { SANDBAR_ENGINE: "wasm", SANDBAR_POOL_SIZE: "0", SANDBAR_PYODIDE_INDEX: index },
  });

  beforeAll(() => {
    execFileSync("python3", ["-c", MAKE_WHEEL, join(index, WHEEL)]);
    const sha256 = createHash("sha256")
      .update(readFileSync(join(index, WHEEL)))
      .digest("hex");
    const entry = { name: "sandgrain", version: "1.2.0", file_name: WHEEL, sha256, depends: [] };
    writeFileSync(
      join(index, "pyodide-lock.json"),
      JSON.stringify({ info: {}, packages: { sandgrain: entry } }),
    );
  });
  afterAll(() => rmSync(index, { recursive: true, force: true }));

  it(
    "come as pure wheels, and as wheels that were built for Pyodide",
    async () => {
      const { id } = await client.create({ dependencies: { pydantic: "", six: "1.17.0" } });
      const code =
        "import pydantic, six\nclass P(pydantic.BaseModel):\n    x: int\nprint(P(x='4').x, six.__version__)";
      const { status, stdout, error } = await client.run(id, code, { timeout_s: 60 });
      expect({ status, stdout, error }).toMatchObject({ status: "ok", stdout: "4 1.17.0\n" });
      expect(await client.run(id, "open('/opt/sandbar/deps/six.py', 'a')")).toMatchObject({
        status: "error",
      });
      await client.stop(id);
    },
    WAIT,
  );

  it(
    "come from Pyodide's distribution in a folder, with what they need in WebAssembly, and show themselves",
    async () => {
      const { id } = await client.create({ dependencies: { sandgrain: "~=1.0" } });
      expect(await client.run(id, "import sandgrain, six\nsandgrain.Grain()")).toMatchObject({
        status: "ok",
        results: [{ "text/html": "<b>grain</b>" }],
      });
      await client.stop(id);
      const folder = join(stack.home, "wasm/deps/default");
      const installed = readdirSync(folder);
      await client.stop((await client.create({ dependencies: { sandgrain: "~=1.0" } })).id);
      expect(readdirSync(folder)).toEqual(installed);
      expect(installed.filter((name) => name.endsWith(".part"))).toEqual([]);
    },
    WAIT,
  );

  it(
    "are refused by name where nobody has them, and where they would have to be built",
    async () => {
      for (const [dependencies, detail] of [
        [{ "no-such-package-of-anybody": "" }, /^no-such-package-of-anybody: .*only pure wheels/s],
        [{ numpy: "" }, /^numpy: .*SANDBAR_PYODIDE_INDEX/s],
      ] as const) {
        const { status, body } = await client.problem("POST", "/v1/sessions", { dependencies });
        expect([status, body.code]).toEqual([422, "DEPENDENCY_FAILED"]);
        expect(body.detail).toMatch(detail);
      }
    },
    WAIT,
  );
});
