import { execFile } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const EXAMPLES = join(REPO, "examples");
const VENV = join(REPO, "node_modules/.cache/examples-python/venv");
const TIME_LIMIT_MS = 80_000;
const run = promisify(execFile);

describe("the examples", () => {
  let datasets: string;
  let scratch: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    datasets = mkdtempSync(join(tmpdir(), "sandbar-examples-data-"));
    chmodSync(datasets, 0o755);
    writeFileSync(join(datasets, "sales.csv"), "region,amount\nnorth,10\nsouth,32\nnorth,5\n");
    scratch = mkdtempSync(join(tmpdir(), "sandbar-examples-"));
    await prepareVenv();
  });
  afterAll(async () => {
    for (const folder of [datasets, scratch]) rmSync(folder, { recursive: true });
  });
  const { stack } = useStack(() => ({ agentEnv: { DATASETS_HOST_RO: datasets } }));
  beforeAll(async () => {
    env = {
      ...(process.env as Record<string, string>),
      SANDBAR_URL: stack.url,
      SANDBAR_API_KEY: stack.key,
      // Nothing of the user's own settings, and no model but the scripted one.
      SANDBAR_CONFIG: join(scratch, "none.json"),
      SANDBAR_EXAMPLE_MODEL: "",
      PATH: `${scratch}:${join(EXAMPLES, "node_modules/.bin")}:${process.env.PATH}`,
    };
  });

  async function output(file: string, args: string[], more: Record<string, string> = {}): Promise<string> {
    const options = { cwd: EXAMPLES, env: { ...env, ...more }, timeout: TIME_LIMIT_MS };
    try {
      const { stdout } = await run(file, args, options);
      return stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout?: string; stderr?: string };
      throw new Error(`${file} ${args.join(" ")} failed\n${stdout}\n${stderr}\n${stack.agentLog()}`, {
        cause: error,
      });
    }
  }
  const example = (name: string) => output(process.execPath, [`${name}/main.ts`]);
  const python = (args: string[]) =>
    output(join(VENV, "bin/python"), args, {
      PYTHONPATH: join(REPO, "sdk/python/src"),
      PYTHONDONTWRITEBYTECODE: "1",
    });

  describe.concurrent("run as they stand", { timeout: 120_000 }, () => {
    it("simple sandbox (TMPFS_NONE)", async () => {
      const text = await example("simple-sandbox");
      expect(text).toContain("sorted: [1, 2, 3]\nlive 3\nlive 1\nlive 2\n");
      expect(text).toMatch(/artifact plot\.png \(image\/png\): (\d+) of \1 bytes read/);
      expect(text).toContain("an error is an answer: ZeroDivisionError");
      expect(text).toContain("endless code: timeout, variables kept\nstill there: 3\n");
    });

    it("fully local (BIND_LOCAL)", async () => {
      const text = await example("fully-local");
      expect(text).toContain("dataset /data/sales.csv: 40 bytes\nsales.csv 3 rows {'amount': 47}\n");
      expect(text).toContain("datasets are read-only: OSError");
      expect(text).toContain("on the host's disk: /session/sales.json");
      const session = /session (ses_\w+)/.exec(text)![1]!;
      expect(
        JSON.parse(readFileSync(join(stack.home, "sessions", session, "sales.json"), "utf8")),
      ).toHaveLength(3);
    });

    it("datasets from an API (TMPFS_API)", async () => {
      const text = await example("api-datasets");
      expect(text.match(/the API is asked for sales/g)).toHaveLength(1);
      expect(text).toContain("sales is LOADED at /session/data/sales.parquet, 1732 bytes");
      expect(text).toContain("{'north': 15, 'south': 32, 'west': 8}");
      expect(text).toContain("not staged: unknown: the API answers 404");
      expect(text).toMatch(/the changed dataset: sales_\w+\.parquet, \d+ bytes/);
    });

    it("bash agent", async () => {
      const text = await example("bash-agent");
      expect(text).toContain("/session/notes\nI made notes/numbers.txt.");
      expect(text).toContain("/session/notes\n1+2+3\n6\nThe sum is 6.");
    });

    it("ReAct agent", async () => {
      const text = await example("react-agent");
      expect(text).toContain("tool: 12\nai: 5 + 7 is 12.");
      expect(text).toContain("tool: -0.5366\n");
      expect(text).toMatch(/\[artifact\] sine\.txt .*\nlink: http\S+\/artifacts\/art_/);
    });

    it("CodeAct agent", async () => {
      const text = await example("codeact-agent");
      expect(text).toContain("KeyError: 'Stavanger'");
      expect(text).toContain("human: Oslo 1581\n");
      expect(text.trimEnd()).toMatch(/ai: Oslo is the densest, .*$/);
    });

    it("deep agent", async () => {
      const text = await example("deep-agent");
      expect(text).toContain("Successfully replaced 1 occurrence(s) in '/session/primes.py'");
      expect(text).toContain("36 primes.json");
      expect(text).toContain("read back: [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]");
    });

    it("transfer between sessions and runtimes", async () => {
      const text = await example("transfer");
      expect(text).toMatch(/python → r: 71 bytes, sha256 [0-9a-f]{12}\n/);
      expect(text).toContain("r → node: y = 2 x + 1.07\n");
    });

    it("plain curl", async () => {
      const text = await output("sh", ["curl/main.sh"]);
      expect(text).toContain("x * 2 is 40\na stream:\nevent: started\nevent: stdout\nevent: finished\n");
      expect(text).toContain(
        "the file is back: 3,4\nthe artifact says: 3 lines\na refusal: VALIDATION_FAILED\n",
      );
    });

    it("Python notebook", async () => {
      const text = await python(["notebook/run.py"]);
      expect(text).toMatch(/<Session ses_\w+ python ready>/);
      expect(text).toContain("live 0\nlive 1\nlive 4\nlive 9\nlive 16\n");
      expect(text).toContain("('LOADED', '/session/data/visits.csv', 28)");
      expect(text).toMatch(/visits: 7\nartifact: visits\.png \d+ bytes/);
      expect(text).toContain("timeout kept\n5 rows are still there");
    });
  });

  it("and the programs of the Python quickstart do, too", { timeout: 120_000 }, async () => {
    const text = readFileSync(join(REPO, "docs/quickstart-python.md"), "utf8");
    const programs = [...text.matchAll(/```python\n(.*?)```/gs)].map(([, code]) => code!);
    // The last one needs a model.
    const said = await Promise.all(programs.slice(0, -1).map((code) => python(["-c", code])));
    expect(said[0]).toBe("Linux\n\n45\n");
    expect(said[1]).toMatch(/7\)?\nOslo\nBergen\n\['visits\.json'\]\nb'.*'\ntimeout kept\n/);
    expect(said[2]).toMatch(/^LOADED 'id,value.*'\nprices_\w+\.csv\n$/);
  });

  describe.concurrent("for MCP clients", () => {
    it.each(["claude-desktop.json", "cursor.json", "claude-code.json"])(
      "%s starts a server",
      async (name) => {
        const { command, args, env: own } = serverOf(name);
        await useServer(new StdioClientTransport({ command, args, env: { ...env, ...own } }));
      },
    );

    it("claude-mcp-add.sh names a server that starts", async () => {
      const fakeClaude = join(scratch, "claude");
      writeFileSync(fakeClaude, '#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done\n', { mode: 0o755 });
      const words = (await output("sh", ["mcp-clients/claude-mcp-add.sh"])).split("\0").slice(0, -1);
      expect(words.slice(0, 4)).toEqual(["mcp", "add", "--scope", "user"]);
      const given = words.flatMap((word, n) => (word === "--env" ? [words[n + 1]!.split("=")] : []));
      expect(Object.fromEntries(given)).toEqual({ SANDBAR_URL: stack.url, SANDBAR_API_KEY: stack.key });
      const [command, ...args] = words.slice(words.indexOf("--") + 1);
      await useServer(new StdioClientTransport({ command: command!, args, env }));
    });

    it.each(["cursor-http.json", "claude-code-http.json"])("%s reaches the HTTP endpoint", async (name) => {
      const { url, headers } = serverOf(name);
      expect(url).toBe(`${stack.url}/mcp`);
      await useServer(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    });

    /** The entry as its client would read it, with the variables that this client expands. */
    function serverOf(name: string) {
      const text = readFileSync(join(EXAMPLES, "mcp-clients", name), "utf8")
        .replace(/\$\{(?:env:)?(\w+)(?::-[^}]*)?\}/g, (_, variable: string) => env[variable]!)
        .replace("http://127.0.0.1:8787", stack.url)
        .replace("<your key>", stack.key);
      return JSON.parse(text).mcpServers.sandbar;
    }

    async function useServer(transport: Parameters<Client["connect"]>[0]): Promise<void> {
      const client = new Client({ name: "examples", version: "1" });
      await client.connect(transport);
      try {
        const created = await client.callTool({ name: "create_session", arguments: { runtime: "bash" } });
        const { session_id } = created.structuredContent as { session_id: string };
        const answer = await client.callTool({
          name: "execute_terminal",
          arguments: { session_id, command: "echo from $((6 * 7))" },
        });
        expect(answer.content).toEqual([{ type: "text", text: "from 42" }]);
        await client.callTool({ name: "stop_session", arguments: { session_id } });
      } finally {
        await client.close();
      }
    }
  });

  it("leaves no session behind", async () => {
    for (const status of ["ready", "busy", "creating"])
      expect(await stack.client().ok("GET", `/v1/sessions?status=${status}`)).toMatchObject({ data: [] });
  });
});

/** The Python client's own dependencies; the client comes from its source. */
async function prepareVenv(): Promise<void> {
  const stamp = join(VENV, "../stamp");
  const wanted = "httpx>=0.27,<1 anyio>=4";
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(join(VENV, ".."), { recursive: true, force: true });
  mkdirSync(join(VENV, ".."), { recursive: true });
  await run("python3", ["-m", "venv", VENV]);
  const quietly = ["--quiet", "--disable-pip-version-check", "--no-cache-dir"];
  await run(join(VENV, "bin/python"), ["-m", "pip", "install", ...quietly, ...wanted.split(" ")]);
  writeFileSync(stamp, wanted);
}
