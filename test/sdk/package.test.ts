import { type ExecFileOptionsWithStringEncoding, execFile } from "node:child_process";
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
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { VERSION } from "@sandbar/shared";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const exec = promisify(execFile);

describe("the packages that `npm run pack` writes", () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-package-"));
  const dist = join(folder, "dist");
  const project = join(folder, "project");
  const venv = join(folder, "venv");
  const installed = (name: string) => join(project, "node_modules/@sandbar", name);

  const run = async (
    file: string,
    args: string[],
    options: Partial<ExecFileOptionsWithStringEncoding> = {},
  ) => (await exec(file, args, { cwd: project, encoding: "utf8", ...options })).stdout;

  beforeAll(async () => {
    await run(process.execPath, [join(REPO, "cli/setup/pack.ts"), dist], { cwd: REPO });
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{"type": "module"}');
    await Promise.all([installTarballs(), installWheel()]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function installTarballs(): Promise<void> {
    const tarballs = ["sdk", "cli", "agent-host"].map((name) => join(dist, `sandbar-${name}-${VERSION}.tgz`));
    await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...tarballs]);
    // The frameworks that the client library has adapters for, in the versions of this repository.
    for (const name of ["@langchain", "deepagents"])
      symlinkSync(join(REPO, "sdk/node_modules", name), join(project, "node_modules", name));
  }

  async function installWheel(): Promise<void> {
    await run("python3", ["-m", "venv", venv]);
    const wheel = join(dist, `sandbar-${VERSION}-py3-none-any.whl`);
    await run(join(venv, "bin/pip"), ["--quiet", "--disable-pip-version-check", "install", wheel]);
  }

  it("are complete: nothing in them is only in this repository", () => {
    for (const name of ["sdk", "cli", "agent-host"]) {
      expect(readdirSync(installed(name)), name).toEqual(expect.arrayContaining(["README.md", "LICENSE"]));
      expect(readFileSync(join(installed(name), "package.json"), "utf8")).not.toContain("workspace:");
      for (const file of readdirSync(installed(name), { recursive: true, encoding: "utf8" }))
        if (/\.(js|d\.ts)$/.test(file) && !file.startsWith("images/"))
          expect(readFileSync(join(installed(name), file), "utf8"), file).not.toMatch(
            /(from|import\()\s*["']@sandbar\//,
          );
    }
  });

  it("every entry of the client library loads", async () => {
    const { exports } = JSON.parse(readFileSync(join(installed("sdk"), "package.json"), "utf8"));
    const script = `for (const entry of ${JSON.stringify(Object.keys(exports))}) {
      const module = await import("@sandbar/sdk" + entry.slice(1));
      console.log(Object.keys(module).join(" "));
    }`;
    const output = await run(process.execPath, ["--input-type=module", "-e", script]);
    for (const name of [
      "Sandbar",
      "makeCodeSandboxTool",
      "SandbarSandbox",
      "Config",
      "createMcpServer",
      "serveStdio",
    ])
      expect(output).toContain(name);
  });

  it("the commands run", async () => {
    expect(await run("npx", ["--no-install", "sandbar", "--version"])).toBe(`${VERSION}\n`);
    expect(await run("npx", ["--no-install", "agent-host", "--version"])).toBe(`${VERSION}\n`);
    await expect(run("npx", ["--no-install", "sandbar", "up"])).rejects.toThrow("needs a checkout");
  });

  it("agent-host brings what it mounts into containers", () => {
    const images = (root: string) => readdirSync(join(root, "images"));
    expect(images(installed("agent-host"))).toEqual(images(REPO));
  });

  it("the wheel is importable", async () => {
    const script =
      "import sandbar, sandbar._version; print(sandbar.Sandbar.__name__, sandbar._version.__version__)";
    expect(await run(join(venv, "bin/python"), ["-c", script])).toBe(`Sandbar ${VERSION}\n`);
  });

  it("the types of the client library serve a strict program", async () => {
    mkdirSync(join(project, "program"));
    writeFileSync(
      join(project, "program/main.ts"),
      `import { Sandbar, SandbarError, type Execution } from "@sandbar/sdk";
import { makeCodeSandboxTool } from "@sandbar/sdk/langchain";
import { SandbarSandbox } from "@sandbar/sdk/deepagents";
import { Config } from "@sandbar/sdk/node";
import { createMcpServer } from "@sandbar/sdk/mcp";
import { serveStdio } from "@sandbar/sdk/mcp/stdio";
const client: Sandbar = Config.fromEnv().client();
await using session = await client.session({ runtime: "python", datasets: "API", limits: { memory_mb: 512 } });
const execution: Execution = await session.run("1 + 1", { timeoutS: 5 });
const text: string | null = execution.ok().text;
for await (const event of session.stream("x")) if (event.type === "stdout") event.text.trim();
// @ts-expect-error there is no such runtime
await client.session({ runtime: "cobol" });
export { client, createMcpServer, makeCodeSandboxTool, serveStdio, SandbarError, SandbarSandbox, text };
`,
    );
    const options =
      "--noEmit --strict --skipLibCheck --module nodenext --target es2024 --lib es2024,esnext.disposable,dom,dom.asynciterable --types node";
    const types = ["--typeRoots", join(REPO, "node_modules/@types")];
    await run(join(REPO, "node_modules/.bin/tsc"), [...options.split(" "), ...types, "program/main.ts"]);
  });

  describe("with a host that runs the packed agent-host", () => {
    const { stack } = useStack({ agentMain: join(installed("agent-host"), "agent-host/src/main.js") });

    it("`sandbar run` of the package runs code", async () => {
      const env = { ...process.env, SANDBAR_URL: stack.url, SANDBAR_API_KEY: stack.key };
      expect(await run("npx", ["--no-install", "sandbar", "run", "-c", "print(6 * 7)"], { env })).toBe(
        "42\n",
      );
    });

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
          resolveDir: project,
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
