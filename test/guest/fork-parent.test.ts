import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { Sandbox, sleep } from "./fixture.ts";

const IS_FORKED = "'fork_parent' in open('/proc/self/cmdline').read()";

async function restart(box: Sandbox, context = "python"): Promise<void> {
  const mark = box.messages.length;
  box.send({ type: "context.restart", context });
  await box.message("context", (m) => m.context === context && m.state === "ready", mark);
}

const value = async (box: Sandbox, code: string, context = "python") => {
  const ran = await box.run(code, { context });
  expect(ran.error).toBeNull();
  return ran.results.at(-1)?.["text/plain"];
};

/** Its kernels have its command line too, but only it is meant for the OOM killer. */
function parentOf(box: Sandbox): string | null {
  const found = box.exec("sh", "-c", "grep -lx 1000 /proc/[0-9]*/oom_score_adj 2>/dev/null || true");
  return /\d+/.exec(found)?.[0] ?? null;
}

/** Imports pandas, waits for the fork parent, and restarts until the kernel is one of its children. */
async function untilForked(box: Sandbox): Promise<string> {
  await box.run("import pandas");
  await eventually("a fork parent", 15_000, () => parentOf(box) !== null);
  await eventually("a forked kernel", 40_000, async () => {
    // It imports at the lowest priority: whoever starts kernels all the time leaves it none.
    await sleep(500);
    await restart(box);
    return (await value(box, IS_FORKED)) === "True";
  });
  return parentOf(box)!;
}

describe("Python kernels after code has imported pandas", () => {
  let box: Sandbox;
  let parent: string;
  beforeAll(async () => {
    box = await Sandbox.start({ memory: "1g" });
    await box.run("1 + 1");
    expect(parentOf(box)).toBeNull();
    parent = await untilForked(box);
  }, 90_000);
  afterAll(async () => {
    const { refused } = box;
    await box.stop();
    expect(refused).toEqual([]);
  });

  it("are processes like any other kernel", async () => {
    expect(
      await value(
        box,
        `import os, signal
tag = [e for e in open('/proc/self/environ').read().split('\\0') if e.startswith('SANDBAR_CONTEXT=')]
(os.getppid(), os.getsid(0) == os.getpgid(0) == os.getpid(), tag == ['SANDBAR_CONTEXT=' + os.environ['SANDBAR_CONTEXT']], os.getcwd(),
 os.nice(0), signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, len(os.listdir('/proc/self/task')))`,
      ),
    ).toBe("(1, True, True, '/session', 0, set(), True, 1)");
  });

  it("are spared by the OOM killer as long as it can take the fork parent", async () => {
    const [kernel, first] = [await value(box, "import os; os.getpid()"), parent].map((pid) =>
      Number(box.exec("cat", `/proc/${pid}/oom_score_adj`)),
    );
    // In thousandths of the memory limit: 64 MB of 1 GB, against all of it.
    expect([kernel, first]).toEqual([62, 1000]);
  });

  it("look as if nothing had been imported, until it is", async () => {
    await restart(box);
    const looks = `import sys, os
(sorted({n.partition('.')[0] for n in sys.modules} & {'numpy', 'pandas', 'pyarrow', 'dateutil'}), sys.path[0], sys.argv,
 sorted(k for k in os.environ if 'SANDBAR' in k), sorted(os.listdir('/proc/self/fd')))`;
    const forked = await value(box, looks);
    box.send({ type: "context.open", context: "cold", language: "python", env: { OTHER: "1" } });
    expect(await value(box, IS_FORKED, "cold")).toBe("False");
    expect(forked).toBe(await value(box, looks, "cold"));
    const state = await box.call("state", { context: "python", timeout_ms: 2000 });
    expect(state.result).toMatchObject({ imports: ["os", "sys"], variables: [] });
    const use = `import importlib.util
found = importlib.util.find_spec('pandas')
hidden = 'pandas' in sys.modules
import numpy as np
others = 'pandas' in sys.modules
import pandas as pd
from pandas.core.frame import DataFrame
(found.origin == pd.__file__, len(found.submodule_search_locations), hidden, others, DataFrame is pd.DataFrame, pd.__spec__.loader.__class__.__name__,
 int(pd.DataFrame({'a': [1, 2]}).a.sum()), float((np.ones((300, 300)) @ np.ones((300, 300))).sum()))`;
    expect(await value(box, use)).toBe("(True, 1, False, False, True, 'SourceFileLoader', 3, 27000000.0)");
    expect(await value(box, use, "cold")).toBe(
      "(True, 1, False, False, True, 'SourceFileLoader', 3, 27000000.0)",
    );
    expect(
      await value(
        box,
        "pd.DataFrame({'s': ['x'] * 1000}).to_parquet('/tmp/t.parquet'); len(pd.read_parquet('/tmp/t.parquet'))",
      ),
    ).toBe("1000");
    box.send({ type: "context.close", context: "cold" });
  });

  it("draw their own random numbers", async () => {
    const draw = "import random, numpy; (random.random(), float(numpy.random.random()))";
    const drawn = new Set<unknown>();
    for (let i = 0; i < 3; i++) {
      await restart(box);
      drawn.add(await value(box, `${IS_FORKED}, __import__('random').random()`));
      drawn.add(await value(box, draw));
    }
    expect(drawn.size).toBe(6);
  });

  it("are interrupted, killed and mourned like any other", async () => {
    await restart(box);
    await box.run("kept = 1");
    const loop = box.start("print('on')\nwhile True: pass");
    await box.until(() => box.eventsOf(loop).some((e) => e.type === "stdout"));
    box.send({ type: "interrupt", execution: loop });
    expect((await box.finish(loop)).done.status).toBe("interrupted");
    expect(await value(box, "kept")).toBe("1");
    expect((await box.run("import os; os._exit(3)")).done).toMatchObject({
      status: "died",
      exit: { exit_code: 3, signal: null, oom: false },
    });
    expect((await box.run("import os; os.kill(os.getpid(), 9)")).done.exit).toEqual({
      exit_code: null,
      signal: 9,
      oom: false,
    });
    expect(await value(box, IS_FORKED)).toBe("True");
  });

  it("take with them what forked away, and nothing of another context", async () => {
    const away = (name: string) => `import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('/tmp/${name}', 'w').write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
while not os.path.exists('/tmp/${name}') or not open('/tmp/${name}').read(): time.sleep(0.01)
int(open('/tmp/${name}').read())`;
    box.send({ type: "context.open", context: "second", language: "python", env: {} });
    expect(await value(box, IS_FORKED, "second")).toBe("True");
    const mine = await value(box, away("mine"));
    const theirs = await value(box, away("theirs"), "second");
    const alive = (pid: unknown) => box.exec("ps", "-e", "-o", "pid=").split(/\s+/).includes(String(pid));
    await restart(box);
    await eventually("its end", 10_000, () => !alive(mine));
    expect(alive(theirs)).toBe(true);
    expect(parentOf(box)).toBe(parent);
    box.send({ type: "context.close", context: "second" });
    await eventually("its end", 10_000, () => !alive(theirs));
  });

  it("start cold when the session has a file of one of the names, and use it", async () => {
    await box.run("open('/session/dateutil.py', 'w').write('raise ImportError(\"mine\")')");
    await restart(box);
    expect(await value(box, IS_FORKED)).toBe("False");
    expect((await box.run("import pandas")).error?.traceback).toContain("ImportError: mine");
    await box.run("import os; os.remove('/session/dateutil.py')");
    await restart(box);
    expect(await value(box, IS_FORKED)).toBe("True");
  });

  it("import what user code put on its path instead", async () => {
    await restart(box);
    await box.run(
      "import os, sys; os.makedirs('/session/lib/pandas'); open('/session/lib/pandas/__init__.py', 'w').write('import numpy; mine = True')",
    );
    expect(await value(box, "sys.path.insert(0, '/session/lib'); import pandas; pandas.mine")).toBe("True");
    expect(await value(box, "import shutil; shutil.rmtree('/session/lib'); pandas.numpy.__file__[:10]")).toBe(
      "'/opt/venv/'",
    );
  });

  it("start cold without a word when the fork parent is stopped or gone", async () => {
    expect(box.exec("kill", "-STOP", parent)).toBe("");
    await restart(box);
    expect(await value(box, IS_FORKED)).toBe("False");
    expect(await value(box, "1 + 1")).toBe("2");
    const second = await untilForked(box);
    expect(second).not.toBe(parent);
    box.exec("kill", "-9", second);
    await eventually("its end", 10_000, () => parentOf(box) !== second);
    await restart(box);
    expect(await value(box, IS_FORKED)).toBe("False");
  });
});

describe("a fork parent", () => {
  it("gives its memory back before user code needs it", async () => {
    const box = await Sandbox.start({ memory: "512m" });
    try {
      await box.run("import pandas");
      await eventually("a fork parent", 15_000, () => parentOf(box) !== null);
      const ran = await box.run(`import time
blocks = []
for _ in range(22):
    blocks.append(b'x' * 20_000_000)
    time.sleep(0.1)
len(blocks)`);
      expect(ran).toMatchObject({ error: null, done: { status: "ok" } });
      expect(parentOf(box)).toBeNull();
      expect(await value(box, "len(blocks)")).toBe("22");
      // Nobody is left who would be taken instead.
      expect(await value(box, "open('/proc/self/oom_score_adj').read().strip()")).toBe("'800'");
    } finally {
      await box.stop();
    }
  }, 60_000);

  it("is not there when the operator or the memory limit forbids it", async () => {
    const boxes = await Promise.all([
      Sandbox.start({ memory: "256m" }),
      Sandbox.start({ docker: ["--env", "SANDBAR_KERNEL_PRELOAD=off"] }),
    ]);
    try {
      for (const box of boxes) await box.run("import pandas");
      // Longer than the guest waits before it starts one.
      await sleep(2000);
      for (const box of boxes) expect(parentOf(box)).toBeNull();
    } finally {
      for (const box of boxes) await box.stop();
    }
  });

  it("imports what was installed for the session", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "sandbar-deps-"));
    chmodSync(folder, 0o755);
    mkdirSync(path.join(folder, "pandas"));
    writeFileSync(path.join(folder, "pandas/__init__.py"), "__version__ = 'installed'\n");
    const box = await Sandbox.start({
      docker: ["--volume", `${folder}:/opt/deps:ro`, "--env", "PYTHONPATH=/opt/deps"],
    });
    try {
      await untilForked(box);
      expect(await value(box, "import pandas; pandas.__version__, pandas.__file__")).toBe(
        "('installed', '/opt/deps/pandas/__init__.py')",
      );
    } finally {
      await box.stop();
      rmSync(folder, { recursive: true });
    }
  });

  it("knows nothing of what user code can write, its kernels do", async () => {
    const box = await Sandbox.start({ docker: ["--env", "PYTHONPATH=/session/lib"] });
    const write = (name: string, text: string) =>
      box.run(
        `import os; os.makedirs('/session/lib', exist_ok=True); open('/session/lib/${name}', 'w').write("${text}")`,
      );
    try {
      await write("mine.py", "version = 1");
      await untilForked(box);
      expect(await value(box, "import mine, sys; (mine.version, sys.path[:2])")).toBe(
        "(1, ['', '/session/lib'])",
      );
      await write("mine.py", "version = 22");
      await restart(box);
      expect(await value(box, `import mine; (mine.version, ${IS_FORKED})`)).toBe("(22, True)");
      await write("dateutil.py", "raise ImportError('mine')");
      await restart(box);
      expect(await value(box, IS_FORKED)).toBe("False");
      expect((await box.run("import pandas")).error?.traceback).toContain("ImportError: mine");
    } finally {
      await box.stop();
    }
  });
});
