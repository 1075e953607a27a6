import { type ExecFileOptionsWithStringEncoding, execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createContext, runInContext } from "node:vm";
import { VERSION } from "@sandbar/shared";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";
import { onTty } from "../fixtures/tty.ts";
import { useStack } from "../fixtures/use-stack.ts";
import { hostInstallTests } from "./host-install.ts";

const exec = promisify(execFile);

/** What the programs of a page leave to their reader. */
const BROUGHT: Record<string, string> = {
  "sdk/README.md": `import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
declare const model: BaseChatModel;
declare const threadId: string;
declare const load: (id: string) => Promise<Uint8Array>;`,
  "docs/quickstart-langgraph.md": `import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
declare const model: BaseChatModel;
declare const myApi: { download: (id: string) => Promise<Uint8Array> };`,
};

/** The oldest Node that the client library and the command line support, from the package that carries its binary. */
const OLD_NODE = `node-${process.platform}-${process.arch}@20.20.2`;
const FRAMEWORKS = [
  "langchain",
  "@langchain/core",
  "@langchain/langgraph",
  "@langchain/langgraph-sdk",
  "deepagents",
];

describe("the packages that `npm run pack` writes", () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-package-"));
  const dist = join(folder, "dist");
  const project = join(folder, "project");
  const pnpmProject = join(folder, "pnpm-project");
  const venv = join(folder, "venv");
  const oldNode = join(folder, "old-node/node_modules", OLD_NODE.split("@")[0]!, "bin/node");
  const installed = (name: string) => join(project, "node_modules/@sandbar", name);
  const tarball = (name: string) => join(dist, `sandbar-${name}-${VERSION}.tgz`);

  const run = async (
    file: string,
    args: string[],
    options: Partial<ExecFileOptionsWithStringEncoding> = {},
  ) => (await exec(file, args, { cwd: project, encoding: "utf8", ...options })).stdout;

  beforeAll(async () => {
    await run(process.execPath, [join(REPO, "cli/setup/pack.ts"), dist], { cwd: REPO });
    for (const empty of [project, pnpmProject]) mkdirSync(empty);
    writeFileSync(join(project, "package.json"), '{"type": "module"}');
    writeFileSync(join(pnpmProject, "package.json"), '{"type": "module"}');
    await Promise.all([installWithNpm(), installWithPnpm(), installWheel()]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function installWithNpm(): Promise<void> {
    const { devDependencies } = JSON.parse(readFileSync(join(REPO, "test/package.json"), "utf8"));
    const frameworks = FRAMEWORKS.map((name) => `${name}@${devDependencies[name]}`);
    const packages = [...["sdk", "cli", "agent-host"].map(tarball), ...frameworks];
    const quietly = ["--no-audit", "--no-fund", "--prefer-offline"];
    await run("npm", ["install", ...quietly, ...packages]);
    await run("npm", ["install", ...quietly, "--prefix", join(folder, "old-node"), OLD_NODE]);
    // What a folder that was linked in did not survive.
    await run("npm", ["install", ...quietly]);
  }

  async function installWithPnpm(): Promise<void> {
    await run("pnpm", ["add", "--prefer-offline", tarball("sdk"), tarball("cli")], { cwd: pnpmProject });
  }

  async function installWheel(): Promise<void> {
    await run("python3", ["-m", "venv", venv]);
    const [wheel] = readdirSync(dist).filter((name) => name.endsWith(".whl"));
    await run(join(venv, "bin/pip"), [
      "--quiet",
      "--disable-pip-version-check",
      "install",
      join(dist, wheel!),
    ]);
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

  const entries = (): string[] =>
    Object.keys(JSON.parse(readFileSync(join(installed("sdk"), "package.json"), "utf8")).exports);
  const load = (names: string[]) => [
    "--input-type=module",
    "-e",
    `for (const entry of ${JSON.stringify(names)})
      console.log(Object.keys(await import("@sandbar/sdk" + entry.slice(1))).join(" "));`,
  ];

  it("say what somebody needs to know before they are installed", () => {
    for (const name of ["sdk", "cli", "agent-host"]) {
      const manifest = JSON.parse(readFileSync(join(installed(name), "package.json"), "utf8"));
      expect(manifest, name).toMatchObject({
        name: `@sandbar/${name}`,
        version: VERSION,
        license: "MIT",
        description: expect.any(String),
        engines: { node: ">=20" },
        publishConfig: { access: "public", provenance: true },
      });
      expect(manifest.private).toBeUndefined();
      expect(manifest.keywords).toContain("sandbox");
      const folders = readdirSync(installed(name), { withFileTypes: true }).filter((e) => e.isDirectory());
      expect(manifest.files.sort()).toEqual(folders.map((e) => e.name).filter((n) => n !== "node_modules"));
    }
  });

  it("every entry of the client library loads on Node 20", async () => {
    const output = await run(oldNode, load(entries()));
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

  it("pnpm lets them import what they name, and that is enough", async () => {
    const alone = entries().filter((entry) => !/langchain|deepagents/.test(entry));
    expect(await run(oldNode, load(alone), { cwd: pnpmProject })).toContain("Sandbar");
    expect(await run("pnpm", ["exec", "sandbar", "--version"], { cwd: pnpmProject })).toBe(`${VERSION}\n`);
  });

  it("nothing in them asks for a newer Node than they do", () => {
    const wrong = readdirSync(join(pnpmProject, "node_modules/.pnpm"), { recursive: true, encoding: "utf8" })
      .filter((file) => /\/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(`/${file}`))
      .map((file) => JSON.parse(readFileSync(join(pnpmProject, "node_modules/.pnpm", file), "utf8")))
      .filter(({ engines }) => /(2[1-9]|[3-9]\d)\./.test(`${engines?.node ?? ""}.`))
      .map(({ name, engines }) => `${name}: ${engines.node}`);
    expect(wrong).toEqual([]);
  });

  it("the commands run, and say which Node they need", async () => {
    expect(await run("npx", ["--no-install", "sandbar", "--version"])).toBe(`${VERSION}\n`);
    expect(await run("npx", ["--no-install", "agent-host", "--version"])).toBe(`${VERSION}\n`);
    await expect(run("npx", ["--no-install", "sandbar", "up"])).rejects.toThrow("needs a checkout");
    const agentHost = join(installed("agent-host"), "agent-host/src/main.js");
    await expect(run(oldNode, [agentHost, "run"])).rejects.toThrow(
      "agent-host needs Node 24 or newer; this is 20.20.2",
    );
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
    await compile("program/main.ts");
  });

  it.each(["README.md", "sdk/README.md", "docs/quickstart-langgraph.md"])(
    "the TypeScript of %s compiles in a strict project",
    async (page) => {
      const file = `${page.replaceAll(/[/.]/g, "-")}.ts`;
      writeFileSync(join(project, file), `${BROUGHT[page] ?? ""}\n${snippets(page).join("\n")}`);
      await compile(file);
    },
  );

  const snippets = (page: string) =>
    [...readFileSync(join(REPO, page), "utf8").matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);

  async function compile(file: string, ...more: string[]): Promise<void> {
    const options =
      "--strict --exactOptionalPropertyTypes --noUncheckedIndexedAccess --verbatimModuleSyntax --skipLibCheck --module nodenext --target es2022 --lib es2024,esnext.disposable,dom,dom.asynciterable --types node";
    const types = ["--typeRoots", join(REPO, "node_modules/@types")];
    const emit = more.length === 0 ? ["--noEmit"] : more;
    await run(join(REPO, "node_modules/.bin/tsc"), [...options.split(" "), ...types, ...emit, file]).catch(
      ({ stdout }) => {
        throw new Error(`${file} does not compile\n${stdout}`);
      },
    );
  }

  hostInstallTests({ agentHost: () => installed("agent-host"), node: oldNode });

  describe("with a host that runs the packed agent-host", () => {
    const { stack } = useStack({ agentMain: join(installed("agent-host"), "agent-host/src/main.js") });

    const env = () => ({
      ...process.env,
      SANDBAR_URL: stack.url,
      SANDBAR_API_KEY: stack.key,
      NODE_OPTIONS: "",
      NO_COLOR: "1",
    });
    const main = () => join(installed("cli"), "cli/src/main.js");
    const sandbar = (...args: string[]) => run(oldNode, [main(), ...args], { env: env() });

    it("on Node 20, `sandbar` runs code, TypeScript too", async () => {
      expect(await sandbar("run", "-c", "print(6 * 7)")).toBe("42\n");
      writeFileSync(
        join(project, "typed.ts"),
        "enum N { one = 1 }\nconst n: number = N.one;\nconsole.log(n + 1);",
      );
      expect(await sandbar("run", "typed.ts")).toBe("2\n");
      expect(await sandbar("doctor")).toContain("✓ Node: 20.20.2");
    });

    it("on Node 20, `sandbar terminal` opens a shell", async () => {
      await sandbar("sessions", "create", "old-node");
      const shell = onTty(["terminal", "old-node"], { cwd: project, env: env() }, [oldNode, main()]);
      shell.type("echo $((6 * 7))\n");
      await shell.shows(/\b42\r+\n/);
      shell.type("exit 7\n");
      expect(await shell.ended).toBe(7);
      await sandbar("sessions", "stop", "old-node");
    });

    it("on Node 20, the programs of the READMEs run", async () => {
      const programs = [snippets("README.md")[0]!, snippets("sdk/README.md")[0]!];
      const said = await Promise.all(
        programs.map(async (code, n) => {
          writeFileSync(join(project, `readme-${n}.ts`), code);
          await compile(`readme-${n}.ts`, "--outDir", "readme");
          return run(oldNode, [`readme/readme-${n}.js`], { env: env() });
        }),
      );
      expect(said).toEqual(["10\n", "0\n1\n2\n"]);
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
