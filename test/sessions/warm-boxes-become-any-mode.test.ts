import { execFile, execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { mountsBelow, unmountBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { docker, eventually, REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

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
});
afterAll(async () => {
  await unmountBelow(datasets);
  execFileSync("umount", ["-l", datasets]);
  rmSync(datasets, { recursive: true });
});
const { stack, client } = useStack(() => ({
  agentEnv: { DATASETS_HOST_RO: datasets, SANDBAR_POOL_SIZE: "2", SANDBAR_POOL_MAX: "3" },
}));

interface PoolRow {
  box: string;
  runtime: string;
  warm: boolean;
}

function pool(): PoolRow[] {
  const db = new DatabaseSync(join(stack.home, "host/journal.sqlite"), { readOnly: true });
  try {
    const rows = db.prepare("SELECT key, box, warm FROM pool").all();
    return rows.map(({ key, box, warm }) => ({
      box: String(box),
      runtime: JSON.parse(String(key)).runtime,
      warm: warm === 1,
    }));
  } finally {
    db.close();
  }
}

/** A session that gets a box of the pool: the very container that was there before. */
async function claim(spec: Record<string, unknown>, runtime = "python") {
  await eventually(`a warm ${runtime} box`, 60_000, () =>
    pool().some((row) => row.runtime === runtime && row.warm),
  );
  const before = pool().map(({ box }) => box);
  const { id } = await client.create({ runtime, ...spec });
  const container = await stack.containerOf(id);
  const { Labels } = (await container.inspect()).Config;
  expect(Labels).toMatchObject({ "sandbar.pool": "1" });
  expect(before).toContain(Labels["sandbar.box"]);
  expect(pool().map(({ box }) => box)).not.toContain(Labels["sandbar.box"]);
  return { id, container };
}

async function gone(id: string, { id: container }: { id: string }): Promise<void> {
  await client.stop(id);
  await eventually("its container and its mounts to go", 10_000, async () => {
    const found = await docker.listContainers({ all: true, filters: { id: [container] } });
    return found.length === 0 && !readFileSync("/proc/self/mountinfo", "utf8").includes(id);
  });
}

const folderOf = (id: string) => join(stack.home, "sessions", id);

const LOOK = `
import os, pwd
def refused(path):
    try:
        open(path, 'a').close()
        return None
    except OSError as error:
        return type(error).__name__
[os.getcwd(), os.path.exists('relative'), open('relative', 'w').write('x') and os.listdir('/session/artifacts'), os.path.isdir(os.environ['HOME']),
 pwd.getpwuid(os.getuid()).pw_name, os.path.exists('/data/numbers.csv'), [refused('/data/' + name) for name in ('numbers.csv', 'inner/deep.csv', 'new', 'inner/new')]]
`;
const READ_ONLY = "'OSError', 'OSError', 'OSError', 'OSError'";
const EMPTY = "'OSError', 'FileNotFoundError', 'OSError', 'FileNotFoundError'";

describe.each(["TMPFS", "BIND"])("a warm box with storage %s", (storage) => {
  it.each(["NONE", "LOCAL_RO", "API"])("and datasets %s", async (access) => {
    const { id, container } = await claim({ storage, datasets: { access }, env: { MINE: "yes" } });
    const local = access === "LOCAL_RO";
    const looked = await client.run(id, LOOK);
    expect(looked.error).toBeNull();
    expect(looked.text?.replaceAll(/\s+/g, " ")).toBe(
      `['/session', False, [], True, 'sandbox', ${local ? "True" : "False"}, [${local ? READ_ONLY : EMPTY}]]`,
    );
    expect(existsSync(join(folderOf(id), "relative"))).toBe(storage === "BIND");
    // Kernels that come later are in the same folder.
    const shell = await client.run(id, "pwd; cat relative; echo $MINE", { language: "bash" });
    expect(shell.stdout).toBe("/session\nxyes\n");
    await client.run(id, "import os; os._exit(1)");
    expect((await client.run(id, "open('relative').read()")).text).toBe("'x'");
    const made = await client.run(id, "open('/session/artifacts/a.txt', 'w').write('kept')");
    expect(made.artifacts).toMatchObject([{ name: "a.txt", size: 4 }]);
    const kept = (name: string) => join(folderOf(id), name);
    if (storage === "BIND")
      await eventually("the state", 10_000, () => existsSync(kept("python_state.json")));
    await gone(id, container);
    expect(existsSync(kept("relative"))).toBe(storage === "BIND");
    if (storage !== "BIND") return;
    const log = readFileSync(kept("session.log"), "utf8").trimEnd().split("\n");
    expect(log.map((line) => JSON.parse(line).status)).toEqual(["ok", "ok", "died", "ok", "ok"]);
    expect(JSON.parse(readFileSync(kept("session_metadata.json"), "utf8"))).toMatchObject({
      session_id: id,
      storage: "BIND",
      env: ["MINE"],
    });
  });
});

const OTHERS = {
  bash: {
    write: "pwd; ls /data; echo $MINE > mine",
    read: "cat mine",
  },
  node: {
    write: `
const fs = require("node:fs");
console.log([process.cwd(), ...fs.readdirSync("/data").sort()].join("\\n"));
fs.writeFileSync("mine", (process.env.MINE ?? "") + "\\n");`,
    read: `process.stdout.write(fs.readFileSync("mine", "utf8"))`,
  },
  r: {
    write: "writeLines(c(getwd(), sort(list.files('/data')))); writeLines(Sys.getenv('MINE'), 'mine')",
    read: "writeLines(readLines('mine'))",
  },
};

describe("a warm box of another runtime", () => {
  it.each(Object.entries(OTHERS))("%s is in the session's own folder", async (runtime, { write, read }) => {
    // The first one only says that such boxes are wanted.
    await client.stop((await client.create({ runtime })).id);
    for (const MINE of ["", "yes"]) {
      const env: Record<string, string> = MINE ? { MINE } : {};
      const { id, container } = await claim(
        { storage: "BIND", datasets: { access: "LOCAL_RO" }, env },
        runtime,
      );
      const written = await client.run(id, write);
      expect(written.error).toBeNull();
      expect(written.stdout).toBe("/session\ninner\nlater\nnumbers.csv\n");
      expect(readFileSync(join(folderOf(id), "mine"), "utf8")).toBe(`${MINE}\n`);
      expect((await client.run(id, read)).stdout).toBe(`${MINE}\n`);
      await gone(id, container);
    }
  });
});

describe("a claimed box", () => {
  const spec = { storage: "BIND", datasets: { access: "LOCAL_RO" } };

  /** What is on top of each folder, with its options; and everything that Docker was told beside names and mounts. */
  async function described(id: string) {
    const mounts = await client.run(id, "print(open('/proc/self/mountinfo').read())");
    const options = Object.fromEntries(
      mounts.stdout
        .split("\n")
        .map((line) => line.split(" "))
        .filter(([, , , , path = ""]) => /^\/(session|data|data\/inner|tmp|dev\/shm|)$/.test(path))
        .map(([, , , , path, flags = ""]) => [path, new Set(flags.split(","))]),
    );
    const { HostConfig, Config } = await (await stack.containerOf(id)).inspect();
    const { Binds: _b, ...host } = HostConfig;
    // No two are the same user.
    const { Labels: _l, User, ...config } = Config;
    return { options, host, config, group: User.split(":")[1] };
  }

  it("is as shut in as one made from nothing", async () => {
    const warm = await claim(spec);
    const cold = await client.create({ ...spec, volumes: [{ name: "its-own", path: "/mnt/own" }] });
    const found = await described(warm.id);
    const expected = await described(cold.id);
    // Where Docker makes a mount read-only it forgets the operator's own options, and older ones leave alone what is below.
    expect([...found.options["/data"]!]).toEqual(expect.arrayContaining(["ro", "nodev", "noexec"]));
    expect(found.options["/data/inner"]).toContain("ro");
    for (const place of ["/session", "/tmp", "/dev/shm", "/"])
      expect(found.options[place], place).toEqual(expected.options[place]);
    expect(found.host).toEqual(expected.host);
    expect(found.config).toEqual(expected.config);
    expect(found.group).toBe(expected.group);
    await client.stop(cold.id);
    await gone(warm.id, warm.container);
  });

  it("does not see what the operator mounts below the datasets later", async () => {
    const { id, container } = await claim(spec);
    const later = join(datasets, "later");
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0777", "later", later]);
    try {
      writeFileSync(join(later, "secret"), "x");
      expect((await client.run(id, "import os; os.listdir('/data/later')")).text).toBe("[]");
    } finally {
      execFileSync("umount", [later]);
    }
    await gone(id, container);
    expect(readFileSync(join(datasets, "inner/deep.csv"), "utf8")).toBe("a,b\n1,2\n");
  });

  it("keeps its folders when the daemon is killed, and leaves nothing mounted in the end", async () => {
    const { id, container } = await claim(spec);
    await client.run(id, "kept = open('/session/kept', 'w'); kept.write('before'); kept.flush()");
    const epoch = async () => (await client.ok<{ epoch: number }>("GET", `/v1/hosts/${stack.hostId}`)).epoch;
    const first = await epoch();
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    await eventually("the next daemon", 30_000, async () => (await epoch()) > first);
    const code =
      "kept.write(' and after'); kept.close(); [open('kept').read(), open('/data/numbers.csv').read()]";
    expect((await client.run(id, code)).text).toBe("['before and after', 'a,b\\n1,2\\n']");
    await gone(id, container);
    expect(readFileSync(join(folderOf(id), "kept"), "utf8")).toBe("before and after");
    await promisify(execFile)(process.execPath, [join(REPO, "agent-host/src/main.ts"), "drain"], {
      env: { ...process.env, SANDBAR_HOME: stack.home },
    });
    expect(mountsBelow(stack.home)).toEqual([]);
    expect(existsSync(join(folderOf(id), "kept"))).toBe(true);
  });
});
