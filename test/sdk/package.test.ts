import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("the published package", () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-package-"));
  const dist = join(folder, "node_modules/@sandbar/sdk");

  beforeAll(() => {
    execFileSync(process.execPath, [join(REPO, "sdk/src/publish/build.ts"), dist], { stdio: "pipe" });
    // What npm would install beside it.
    for (const name of readdirSync(join(REPO, "sdk/node_modules"))) {
      if (name.startsWith(".") || name === "@sandbar") continue;
      symlinkSync(join(REPO, "sdk/node_modules", name), join(folder, "node_modules", name));
    }
    writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("has no dependency that only this repository has", () => {
    const manifest = JSON.parse(readFileSync(join(dist, "package.json"), "utf8"));
    expect(JSON.stringify(manifest)).not.toContain("workspace:");
    for (const file of readdirSync(dist, { recursive: true, encoding: "utf8" }))
      if (/\.(js|d\.ts)$/.test(file))
        expect(readFileSync(join(dist, file), "utf8"), file).not.toMatch(/(from|import\()\s*["']@sandbar\//);
  });

  it("brings its README and its licence", () => {
    for (const name of ["README.md", "LICENSE"]) expect(readdirSync(dist)).toContain(name);
  });

  it("every entry loads", () => {
    const run = (...args: string[]) =>
      execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    const script = `for (const entry of ["", "/langchain", "/deepagents", "/node", "/mcp"]) {
      const module = await import("@sandbar/sdk" + entry);
      console.log(Object.keys(module).join(" "));
    }`;
    const output = run("--input-type=module", "-e", script);
    for (const name of ["Sandbar", "makeCodeSandboxTool", "SandbarSandbox", "Config", "createMcpServer"])
      expect(output).toContain(name);
  });

  it("its types serve a strict program", () => {
    mkdirSync(join(folder, "program"));
    writeFileSync(
      join(folder, "program/main.ts"),
      `import { Sandbar, SandbarError, type Execution } from "@sandbar/sdk";
import { makeCodeSandboxTool } from "@sandbar/sdk/langchain";
import { SandbarSandbox } from "@sandbar/sdk/deepagents";
import { Config } from "@sandbar/sdk/node";
const client: Sandbar = Config.fromEnv().client();
await using session = await client.session({ runtime: "python", datasets: "API", limits: { memory_mb: 512 } });
const execution: Execution = await session.run("1 + 1", { timeoutS: 5 });
const text: string | null = execution.ok().text;
for await (const event of session.stream("x")) if (event.type === "stdout") event.text.trim();
// @ts-expect-error there is no such runtime
await client.session({ runtime: "cobol" });
export { client, makeCodeSandboxTool, SandbarError, SandbarSandbox, text };
`,
    );
    const options =
      "--noEmit --strict --skipLibCheck --module nodenext --target es2024 --lib es2024,esnext.disposable,dom,dom.asynciterable --types node";
    const types = ["--typeRoots", join(REPO, "node_modules/@types")];
    const args = [...options.split(" "), ...types, join(folder, "program/main.ts")];
    expect(() =>
      execFileSync(join(REPO, "node_modules/.bin/tsc"), args, { cwd: folder, encoding: "utf8" }),
    ).not.toThrow();
  });

  describe("without Node", () => {
    const { stack } = useStack();

    it("the client runs where there is only what browsers and Workers have", async () => {
      const bundle = await build({
        stdin: {
          contents: `import { Sandbar } from "@sandbar/sdk";
            globalThis.run = async (url, apiKey) => {
              const client = new Sandbar({ url, apiKey });
              const session = await client.session();
              let live = "";
              const execution = await session.run("print('web'); 6 * 7", { onStdout: (text) => (live += text) });
              await session.files.write("note", "written");
              const note = await session.files.readText("note");
              await session.stop();
              return { live, text: execution.ok().text, note };
            };`,
          resolveDir: folder,
        },
        bundle: true,
        write: false,
        format: "iife",
        platform: "browser",
      });
      const web = {
        fetch,
        Request,
        Response,
        Headers,
        URL,
        Blob,
        ReadableStream,
        TextDecoder,
        TextEncoder,
        AbortController,
        AbortSignal,
        crypto,
        setTimeout,
        clearTimeout,
        atob,
        btoa,
      };
      const context = createContext(web) as typeof web & {
        run: (url: string, key: string) => Promise<unknown>;
      };
      runInContext(bundle.outputFiles[0]!.text, context);
      expect(await context.run(stack.url, stack.key)).toEqual({ live: "web\n", text: "42", note: "written" });
    });
  });
});
