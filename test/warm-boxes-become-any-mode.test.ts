import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "./fixtures/client.ts";
import { docker, eventually, mountsBelow, Stack } from "./fixtures/stack.ts";

let stack: Stack;
let client: Client;
let datasets: string;

/** The operator's datasets are a file system of their own, with another one below: what is mounted there later must stay outside. */
beforeAll(async () => {
  datasets = mkdtempSync(join(tmpdir(), "sandbar-datasets-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0777,nodev,noexec", "datasets", datasets]);
  execFileSync("mount", ["--make-shared", datasets]);
  for (const folder of ["inner", "later"]) mkdirSync(join(datasets, folder));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0777", "inner", join(datasets, "inner")]);
  for (const name of ["numbers.csv", "inner/deep.csv"]) {
    writeFileSync(join(datasets, name), "a,b\n1,2\n");
    chmodSync(join(datasets, name), 0o666);
  }
  stack = await Stack.start({
    agentEnv: { DATASETS_HOST_RO: datasets, SANDBAR_POOL_SIZE: "2", SANDBAR_POOL_MAX: "3" },
  });
  client = stack.client();
});
afterAll(async () => {
  await stack?.close();
  for (const mount of mountsBelow(datasets).toReversed()) execFileSync("umount", ["-l", mount]);
  execFileSync("umount", [datasets]);
  rmSync(datasets, { recursive: true });
});

function warmContainers(runtime: string): string[] {
  const db = new DatabaseSync(join(stack.home, "host/journal.sqlite"), { readOnly: true });
  try {
    return db
      .prepare("SELECT key, container FROM pool WHERE warm = 1")
      .all()
      .filter(({ key }) => JSON.parse(String(key)).runtime === runtime)
      .map(({ container }) => String(container));
  } finally {
    db.close();
  }
}

/** A session, and whether it lives in a container that was in the pool before. */
async function claim(spec: Record<string, unknown>, runtime = "python") {
  await eventually(`a warm ${runtime} box`, 60_000, () => warmContainers(runtime).length > 0);
  const pooled = warmContainers(runtime);
  const session = await client.create({ ...(runtime === "python" ? {} : { runtime }), ...spec });
  const container = await stack.containerOf(session.id);
  return { id: session.id, container, pooled: pooled.includes(container.id) };
}

async function gone(id: string): Promise<void> {
  await client.stop(id);
  await eventually("its mounts to go", 10_000, async () => {
    const theirs = readFileSync("/proc/self/mountinfo", "utf8");
    return !theirs.includes(id) && (await stack.containerOf(id).catch(() => null)) === null;
  });
}

const folderOf = (id: string) => join(stack.home, "sessions", id);

const LOOK = `
import os
def refused(path):
    try:
        open(path, 'a').close()
        return None
    except OSError as error:
        return type(error).__name__
[os.getcwd(), os.path.exists('relative'), open('relative', 'w').write('x') and os.listdir('/session/artifacts'), os.path.isdir(os.environ['HOME']),
 os.getuid(), os.path.exists('/data/numbers.csv'), [refused('/data/' + name) for name in ('numbers.csv', 'inner/deep.csv', 'new', 'inner/new')]]
`;
const EROFS = "'OSError', 'OSError', 'OSError', 'OSError'";
const ABSENT = "'OSError', 'FileNotFoundError', 'OSError', 'FileNotFoundError'";

describe.each(["TMPFS", "BIND"])("a warm box with storage %s", (storage) => {
  it.each(["NONE", "LOCAL_RO", "API"])("and datasets %s", async (access) => {
    const { id, pooled } = await claim({ storage, datasets: { access }, env: { MINE: "yes" } });
    expect(pooled).toBe(true);
    const local = access === "LOCAL_RO";
    const looked = await client.run(id, LOOK);
    expect(looked.error).toBeNull();
    expect(looked.text?.replaceAll(/\s+/g, " ")).toBe(
      `['/session', False, [], True, 65532, ${local ? "True" : "False"}, [${local ? EROFS : ABSENT}]]`,
    );
    expect(existsSync(join(folderOf(id), "relative"))).toBe(storage === "BIND");
    // Kernels and commands that come later are in the same folder.
    expect((await client.run(id, "pwd; cat relative; echo $MINE", { language: "bash" })).stdout).toBe("/session\nxyes\n");
    await client.run(id, "import os; os._exit(1)");
    expect((await client.run(id, "open('relative').read()")).text).toBe("'x'");
    const made = await client.run(id, "open('/session/artifacts/a.txt', 'w').write('kept')");
    expect(made.artifacts).toMatchObject([{ name: "a.txt", size: 4 }]);
    await gone(id);
    expect(existsSync(join(folderOf(id), "relative"))).toBe(storage === "BIND");
    if (storage !== "BIND") return;
    const log = readFileSync(join(folderOf(id), "session.log"), "utf8").trimEnd().split("\n");
    expect(log.map((line) => JSON.parse(line).status)).toEqual(["ok", "ok", "died", "ok", "ok"]);
    const metadata = JSON.parse(readFileSync(join(folderOf(id), "session_metadata.json"), "utf8"));
    expect(metadata).toMatchObject({ session_id: id, storage: "BIND", env: ["MINE"] });
    expect(existsSync(join(folderOf(id), "python_state.json"))).toBe(true);
  });
});
