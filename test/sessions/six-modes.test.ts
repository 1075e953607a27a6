import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { mountsBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const run = promisify(execFile);
let outside: string;
let datasets: string;

beforeAll(async () => {
  datasets = mkdtempSync(join(tmpdir(), "sandbar-datasets-"));
  chmodSync(datasets, 0o755);
  writeFileSync(join(datasets, "numbers.csv"), "a,b\n1,2\n");
});
afterAll(async () => {
  rmSync(datasets, { recursive: true });
});
const { stack, client } = useStack(() => ({
  agentEnv: { DATASETS_HOST_RO: datasets, SANDBAR_BIND_MB: "64" },
}));
beforeAll(async () => {
  outside = join(stack.home, "outside.txt");
  writeFileSync(outside, "untouched");
});

const folderOf = (session: string) => join(stack.home, "sessions", session);
const entries = (session: string): Record<string, unknown>[] =>
  readFileSync(join(folderOf(session), "session.log"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const json = (session: string, name: string) =>
  JSON.parse(readFileSync(join(folderOf(session), name), "utf8"));

const LOOK = `
import os, pathlib
def writable(path):
    try:
        pathlib.Path(path, 'probe').write_text('x')
        os.remove(path + '/probe')
        return True
    except OSError:
        return False
[writable('/session'), os.path.exists('/data/numbers.csv'), writable('/data'), os.path.isdir('/session/data'), os.statvfs('/session').f_blocks > 0]
`;

describe.each(["TMPFS", "BIND"])("storage %s", (storage) => {
  it.each(["NONE", "LOCAL_RO", "API"])("with datasets %s", async (access) => {
    const session = await client.create({ storage, datasets: { access } });
    expect(session).toMatchObject({ storage, datasets: { access } });
    const looked = await client.run(session.id, LOOK);
    expect(looked.text).toBe(`[True, ${access === "LOCAL_RO" ? "True" : "False"}, False, True, True]`);
    const refused = await client.run(session.id, "open('/data/new', 'w')");
    expect(refused.error?.name).toMatch(/OSError|PermissionError|FileNotFoundError/);
    await client.run(session.id, "open('/session/kept.txt', 'w').write('kept')");
    await client.stop(session.id);
    await eventually("the container to go", 10_000, async () => (await stack.containers()).length === 0);
    expect(existsSync(join(folderOf(session.id), "kept.txt"))).toBe(storage === "BIND");
  });
});

describe("a BIND session's folder", () => {
  it("has a log, metadata and the last state, without secrets", async () => {
    const session = await client.create({ storage: "BIND", env: { TOKEN: "s3cret" } });
    await client.run(session.id, "answer = 42\nprint('hello')\nanswer");
    await client.run(session.id, "1 / 0");
    await client.run(session.id, "open('/session/artifacts/plot.txt', 'w').write('data')");
    await eventually("three entries", 5000, () => entries(session.id).length === 3);
    expect(entries(session.id)).toMatchObject([
      { status: "ok", language: "python", stdout: "hello\n", result: "42", error: null },
      { status: "error", error: { name: "ZeroDivisionError" } },
      { status: "ok", artifacts: [{ name: "plot.txt", size: 4 }] },
    ]);
    await eventually("the state", 5000, () => existsSync(join(folderOf(session.id), "python_state.json")));
    expect(json(session.id, "python_state.json").variables).toContainEqual(
      expect.objectContaining({ name: "answer", repr: "42" }),
    );
    await client.stop(session.id);
    await eventually(
      "the last metadata",
      5000,
      () => json(session.id, "session_metadata.json").status === "stopped",
    );
    const metadata = readFileSync(join(folderOf(session.id), "session_metadata.json"), "utf8");
    expect(JSON.parse(metadata)).toMatchObject({
      session_id: session.id,
      storage: "BIND",
      env: ["TOKEN"],
      executions: { ok: 2, error: 1 },
    });
    expect(metadata).not.toContain("s3cret");
    expect(lstatSync(join(folderOf(session.id), "artifacts")).isDirectory()).toBe(true);

    const view = await run(process.execPath, [
      join(REPO, "cli/src/main.ts"),
      ...["view", folderOf(session.id), "--limit", "2", "--no-state", "--no-artifacts"],
    ]);
    expect(view.stdout).toContain("Executions (2 of 3)");
    expect(view.stdout).toContain("ZeroDivisionError");
    expect(view.stdout).not.toContain("State");
    expect(view.stdout).not.toContain("hello");
  });

  it("never leads the daemon out of it, nor makes it wait", async () => {
    const session = await client.create({ storage: "BIND" });
    const plants = [
      `os.symlink(${JSON.stringify(outside)}, name)`,
      "os.mkfifo(name)",
      "os.mkfifo(name); reader = os.open(name, os.O_RDONLY | os.O_NONBLOCK)",
      "open('/session/victim', 'w').write('mine'); os.link('/session/victim', name)",
      "os.mkdir(name)",
      "os.symlink('/session/artifacts', name)",
    ];
    for (const plant of plants) {
      const code = `
import os, shutil
for name in ['session.log', 'session_metadata.json', 'python_state.json', 'session.log.1']:
    name = '/session/' + name
    while True:
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.path.lexists(name) and os.remove(name)
        try:
            ${plant}
            break
        except FileExistsError:
            pass  # The daemon has written about the execution before.
`;
      const planted = await client.run(session.id, code);
      expect(planted.error, plant).toBeNull();
      expect((await client.run(session.id, "6 * 7")).text).toBe("42");
    }
    expect((await client.run(session.id, "open('/session/victim').read()")).text).toBe("'mine'");
    expect(readFileSync(outside, "utf8")).toBe("untouched");
    expect(statSync(join(folderOf(session.id), "session.log")).isFile()).toBe(true);
    await client.stop(session.id);
  });

  it("holds no more than SANDBAR_BIND_MB, is a plain folder when its session has ended, and goes on request", async () => {
    const session = await client.create({ storage: "BIND" });
    const full = await client.run(session.id, "open('/session/big', 'wb').write(b'x' * 80_000_000)");
    expect(full.error?.value).toContain("No space left");
    const flags = "sum(os.statvfs('/session').f_flag & f for f in (os.ST_NOSUID, os.ST_NODEV))";
    expect((await client.run(session.id, `import os; ${flags}`)).text).toBe("6");
    await client.run(session.id, "os.truncate('/session/big', 5)");
    expect(statSync(join(folderOf(session.id), "big")).size).toBe(5);
    await client.stop(session.id);
    await eventually("a plain folder", 10_000, () => !mountsBelow(stack.home).includes(folderOf(session.id)));
    expect(readFileSync(join(folderOf(session.id), "big"), "utf8")).toBe("xxxxx");
    expect((await client.call("DELETE", `/v1/sessions/${session.id}?purge=true`)).status).toBe(204);
    expect(existsSync(folderOf(session.id))).toBe(false);
    const other = await client.create({ storage: "BIND" });
    expect((await client.call("DELETE", `/v1/sessions/${other.id}?purge=true`)).status).toBe(204);
    await eventually("the folder to go", 10_000, () => !existsSync(folderOf(other.id)));
  });

  it("keeps a log of bounded size", async () => {
    const session = await client.create({ storage: "BIND" });
    await client.run(session.id, "open('/session/session.log', 'wb').write(b'x' * 10_485_500)");
    await client.run(session.id, "'after'");
    await eventually(
      "a fresh log",
      5000,
      () => statSync(join(folderOf(session.id), "session.log")).size < 100_000,
    );
    expect(statSync(join(folderOf(session.id), "session.log.1")).size).toBeGreaterThan(10_000_000);
    await client.stop(session.id);
  });
});
