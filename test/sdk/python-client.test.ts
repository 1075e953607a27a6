import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  Artifacts,
  Contexts,
  DatasetSources,
  Datasets,
  Files,
  Hosts,
  Keys,
  Process,
  Processes,
  Sandbar,
  Session,
  type SessionRecord,
  Snapshots,
  Terminal,
  Volumes,
} from "@sandbar/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { pythonVenv, type Venv } from "../fixtures/python-venv.ts";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const PACKAGE = join(REPO, "sdk/python");
const run = promisify(execFile);
let venv: Venv;

describe("the Python client", () => {
  beforeAll(async () => {
    // The source itself is installed editable.
    const made = readFileSync(join(PACKAGE, "pyproject.toml"), "utf8");
    venv = await pythonVenv("python-client", { install: ["-e", ".[test]"], cwd: PACKAGE, made });
  }, 600_000);
  const { stack } = useStack();

  it("passes its own suite against the product", async () => {
    const scratch = join(venv.folder, "tmp");
    const report = await python(["-m", "pytest", "-q", "-rs", "--durations=5", "--basetemp", scratch], {
      SANDBAR_URL: stack.url,
      SANDBAR_API_KEY: stack.key,
    });
    rmSync(scratch, { recursive: true, force: true });
    console.log(report);
    expect(report).toMatch(/\d+ passed/);
    // Skips are for routes that the server does not have, never for a missing server or package.
    expect(report).not.toMatch(/SKIPPED.*(SANDBAR_URL|could not import)/);
  }, 300_000);

  it("stops every session that the suite began", async () => {
    const { data } = await stack.client().ok<{ data: unknown[] }>("GET", "/v1/sessions?status=ready");
    expect(data).toEqual([]);
  });

  it("is typed, clean, and its blocking half is the asynchronous one", async () => {
    await python(["-m", "mypy", "--cache-dir", join(venv.folder, "mypy")]);
    await python(["-m", "ruff", "check", "--no-cache", "."]);
    await python(["-m", "ruff", "format", "--no-cache", "--check", "."]);
    await python(["scripts/unasync.py", "--check"]);
  }, 300_000);

  it("can do what the TypeScript client can", async () => {
    const has: Record<string, string[]> = JSON.parse(await python(["-c", SURFACE]));
    for (const [name, parts] of Object.entries(surfaceOf(SURFACES))) {
      const missing = parts
        .filter((part) => !(`${name}.${part}` in ELSEWHERE))
        .filter((part) => !has[name]?.includes(pythonName(`${name}.${part}`)));
      expect({ [name]: missing }).toEqual({ [name]: [] });
    }
  });

  it("builds a wheel that holds the whole package", async () => {
    const out = mkdtempSync(join(tmpdir(), "sandbar-wheel-"));
    try {
      await python(["-m", "build", "--wheel", "--no-isolation", "--outdir", out]);
      const [wheel, ...others] = readdirSync(out);
      expect(wheel).toMatch(/^sandbar_client-.*-py3-none-any\.whl$/);
      expect(others).toEqual([]);
      const names = await python(["-m", "zipfile", "-l", join(out, wheel!)]);
      for (const name of [
        "py.typed",
        "__init__.py",
        "langchain/__init__.py",
        "_sync/_client.py",
        "_async/_client.py",
      ])
        expect(names).toContain(`sandbar/${name}`);
      expect(names).not.toMatch(/tests|scripts/);
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  }, 120_000);
});

const SURFACES = {
  Sandbar,
  Session,
  Files,
  Contexts,
  Datasets,
  Artifacts,
  Processes,
  Process,
  Terminal,
  Hosts,
  Keys,
  DatasetSources,
  Volumes,
  Snapshots,
};

/** Names that Python has for the same, where they are more than another spelling. */
const RENAMED: Record<string, string> = {
  "Session.export": "export_files",
  "Session.fetchPort": "port_request",
  "Session.events": "session_events",
  "Session.follow": "events",
  "Files.open": "read_chunks",
  "Terminal.close": "__exit__",
  "Terminal.onData": "__iter__",
};

/** What Python has in another place, and where. */
const ELSEWHERE: Record<string, string> = {
  "Files.import": "Session.import_files",
  "Sandbar.threads": "LangGraph's own Python client drives the agent",
  "Files.url": "needs a browser's cookie to be of use",
};

const pythonName = (name: string) =>
  RENAMED[name] ??
  name
    .slice(name.indexOf(".") + 1)
    .replace(/^remove$/, "delete")
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The methods of classes, and what stands on a client or a session. */
function surfaceOf(classes: Record<string, { prototype: object }>): Record<string, string[]> {
  const client = new Sandbar({ url: "http://127.0.0.1", apiKey: "k" });
  const session = new Session(client.http, { id: "ses_1" } as SessionRecord);
  const objects: Record<string, object> = { Sandbar: client, Session: session };
  return Object.fromEntries(
    Object.entries(classes).map(([name, { prototype }]) => {
      const own = Object.keys(objects[name] ?? {}).filter((part) => part !== "http");
      const methods = Object.getOwnPropertyNames(prototype).filter((part) => part !== "constructor");
      return [name, [...own, ...methods]];
    }),
  );
}

const SURFACE = `
import json, sandbar
from sandbar._sync import _artifacts, _datasets, _files, _operator, _processes, _session, _snapshots, _terminal
client = sandbar.Sandbar("http://127.0.0.1", "k")
session = sandbar.Session(client._http, sandbar.SessionInfo(id="ses_1"))
objects = {"Sandbar": client, "Session": session}
classes = {"Files": _files.Files, "Contexts": _session.Contexts, "Datasets": _datasets.Datasets,
  "Artifacts": _artifacts.SessionArtifacts, "Processes": _processes.Processes, "Process": _processes.Process,
  "Terminal": _terminal.Terminal, "Hosts": _operator.Hosts, "Keys": _operator.Keys,
  "DatasetSources": _operator.DatasetSources, "Volumes": _operator.Volumes, "Snapshots": _snapshots.Snapshots}
print(json.dumps({name: dir(thing) for name, thing in {**objects, **classes}.items()}))
`;

async function python(args: string[], env: Record<string, string> = {}): Promise<string> {
  try {
    const { stdout } = await run(venv.python, args, {
      cwd: PACKAGE,
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...env },
      maxBuffer: 32 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`python ${args.join(" ")} failed\n${stdout}\n${stderr}`, { cause: error });
  }
}
