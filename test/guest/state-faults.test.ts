import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./fixture.ts";
import { dump, fates, load, Refused } from "./saved-state.ts";

const FORMAT = "python-cloudpickle/1";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start();
  await box.run("kept = 'kept'; numbers = list(range(1000))");
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable("it was not refused"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(Refused);
      return error as Refused;
    },
  );
const shown = async (expression: string, context = "python") => {
  const { results, error } = await box.run(expression, { context });
  return error ? error.name : results[0]?.["text/plain"];
};
const SLOW = `import os, time
class Slow:
    def __reduce__(self):
        open('/session/began', 'w').close()
        while not os.path.exists('/session/go'): time.sleep(0.01)
        return (int, ('7',))
slow = Slow()`;
/** The process apart is at the slow variable. */
const began = () => expect.poll(() => box.exec("ls", "/session"), { timeout: 20_000 }).toContain("began");
const tidy = async () => {
  await box.run("globals().pop('slow', None)");
  box.exec("rm", "-f", "/session/go", "/session/began");
};

describe("saving the variables of a Python context", () => {
  it("waits for the cell that runs, or refuses, as the caller likes", async () => {
    const execution = box.start("import time; print('go'); time.sleep(0.3); late = 1");
    await box.printed(execution);
    expect((await refusal(dump(box, "python", { on_busy: "refuse" }))).code).toBe("BUSY");
    expect((await refusal(dump(box, "python", { on_busy: "wait", timeout_ms: 100 }))).code).toBe("BUSY");
    expect(fates(await dump(box, "python", { on_busy: "wait" }))).toMatchObject({ late: "saved" });
    await box.finish(execution);
  });

  it("does not begin when the daemon that asked has gone while it waited", async () => {
    const waiting = "import os, time; print('go')\nwhile not os.path.exists('/session/go'): time.sleep(0.01)";
    const execution = box.start(waiting);
    await box.printed(execution);
    const params = { context: "python", on_busy: "wait" };
    let dials = 0;
    box.transfers.set("unexpected", (socket) => {
      dials++;
      socket.destroy();
    });
    box.send({
      type: "call",
      id: "of before",
      method: "state.dump",
      params: { ...params, transfer: "unexpected" },
    });
    await box.call("ping", {});
    const hellos = box.hellos.length;
    await box.vanish();
    await box.listen();
    await box.until(() => box.hellos.length > hellos);
    box.send({ type: "replay", execution, seq: box.eventsOf(execution).length });
    box.exec("touch", "/session/go");
    await box.finish(execution);
    expect(fates(await dump(box, "python"))).toMatchObject({ kept: "saved" });
    expect(dials).toBe(0);
    await tidy();
  });

  it("happens beside the cells that follow", async () => {
    await box.run(SLOW);
    const saving = dump(box, "python");
    await began();
    await box.run("later = 1; open('/session/go', 'w').close()");
    const told = fates(await saving);
    expect(told).toMatchObject({ slow: "saved", kept: "saved" });
    expect(told).not.toHaveProperty("later");
    await tidy();
  });

  it("ends when nobody takes the bytes any more, while there are none", async () => {
    await box.run(SLOW);
    const dialled = Promise.withResolvers<Socket>();
    const saving = refusal(
      dump(box, "python", {}, async (socket) => {
        dialled.resolve(socket);
        return Buffer.alloc(0);
      }),
    );
    await began();
    (await dialled.promise).destroy();
    expect((await saving).code).toBe("TRANSFER_FAILED");
    await tidy();
  });

  it("fails alone when nobody takes the bytes, time is up, or they are too many", async () => {
    await box.run("big = bytes(30_000_000)");
    const hangUp = async (socket: Socket) => {
      socket.destroy();
      return Buffer.alloc(0);
    };
    expect((await refusal(dump(box, "python", {}, hangUp))).code).toBe("TRANSFER_FAILED");
    expect((await refusal(dump(box, "python", { max_bytes: 1_000_000 }))).code).toBe("LIMIT_EXCEEDED");
    await box.run(`del big\n${SLOW}`);
    const overdue = await dump(box, "python", { timeout_ms: 6000 });
    expect(fates(overdue)).toMatchObject({
      slow: expect.stringMatching(/^lost: it took longer/),
      kept: "saved",
    });
    await box.run(
      `${SLOW.replace("class Slow:", "import signal\nclass Slow:").replace("open('/session/began'", "signal.signal(signal.SIGALRM, signal.SIG_IGN); open('/session/began'")}`,
    );
    const error = await refusal(dump(box, "python", { timeout_ms: 1000 }));
    expect(error).toMatchObject({ code: "HOST_TIMEOUT", message: expect.stringContaining("'slow'") });
    await expect
      .poll(() => box.top().filter((command) => command.includes("kernels/python/main.py")).length)
      .toBe(1);
    expect(await shown("kept")).toBe("'kept'");
    await tidy();
  });

  it("does not cost the kernel its life when it takes too much memory, and ends with a kernel that ends", async () => {
    await box.run(
      "class Hog:\n    def __reduce__(self): return (bytes, (bytearray(b'x' * 2_000_000_000),))\nhog = Hog()",
    );
    const told = await dump(box, "python").then(fates, (error: Refused) => ({ hog: error.code }));
    expect(told.hog).toMatch(/^(OOM_KILLED|lost: MemoryError)/);
    expect(await shown("kept")).toBe("'kept'");
    await box.run("del hog");
    await box.run(SLOW, { context: "short" });
    const saving = refusal(dump(box, "short"));
    await began();
    await box.run("os._exit(3)", { context: "short" });
    expect((await saving).message).toContain("could not be saved: the process that did it ended");
    box.send({ type: "context.close", context: "short" });
    await tidy();
  });

  it("reports no more than it may, whatever user code says in its place", async () => {
    await box.run(`import json
class Liar:
    def __reduce__(self):
        import os
        for fd in os.listdir('/proc/self/fd'):
            try: name = os.readlink('/proc/self/fd/' + fd)
            except OSError: continue
            if name.endswith('.err'):
                many = [{"name": "n" * 1000, "type": 7, "status": "lost", "reason": ["x"]}, "no", {"status": "odd"}] * 3000
                os.write(int(fd), json.dumps({"done": {"variables": many, "more": -1, "environment": 5}}).encode() + b"\\nnot json\\n[1]\\n")
                os._exit(0)
liar = Liar()`);
    const { variables, more } = await dump(box, "python");
    expect(variables.length).toBeLessThanOrEqual(2000);
    expect(variables[0]).toEqual({ name: "n".repeat(200), type: "?", status: "lost", reason: "?" });
    expect(more).toBe(0);
    await box.run("del liar, Liar");
  });

  it("of a context without a kernel finds nothing", async () => {
    expect(await dump(box, "nobody")).toMatchObject({ alive: false, size: 0, format: null, variables: [] });
  });
});

describe("loading variables into a Python context", () => {
  it("refuses what is damaged, cut short or foreign by name, and leaves a clean kernel", async () => {
    const { bytes } = await dump(box, "python");
    const flipped = Buffer.from(bytes);
    for (let at = 200; at < flipped.length; at += 37) flipped[at]! ^= 0x55;
    for (const wrong of [
      bytes.subarray(0, -3),
      bytes.subarray(0, 50),
      Buffer.alloc(0),
      Buffer.from("\x80\x05K\x01."),
      flipped,
    ]) {
      const error = await refusal(load(box, "wrong", "python", FORMAT, wrong));
      expect(error).toMatchObject({
        code: "SNAPSHOT_DAMAGED",
        message: expect.stringContaining("could not be loaded"),
      });
    }
    expect((await refusal(load(box, "wrong", "python", "node-v8/1", bytes))).code).toBe("SNAPSHOT_DAMAGED");
    const cut = (socket: Socket) => void socket.write(bytes, () => socket.destroy());
    expect((await refusal(load(box, "wrong", "python", FORMAT, cut))).code).toBe("TRANSFER_FAILED");
    expect((await refusal(load(box, "python", "python", FORMAT, bytes))).code).toBe("VALIDATION_FAILED");
    expect(fates(await load(box, "wrong", "python", FORMAT, bytes))).toMatchObject({ kept: "saved" });
    expect(await shown("kept, len(numbers)", "wrong")).toBe("('kept', 1000)");
    box.send({ type: "context.close", context: "wrong" });
  });

  it("is the harm of that kernel alone when they are hostile", async () => {
    await box.run(
      "import os\nclass Bomb:\n    def __reduce__(self): return (os._exit, (9,))\nbomb = Bomb()",
      { context: "evil" },
    );
    const { bytes } = await dump(box, "evil");
    const error = await refusal(load(box, "victim", "python", FORMAT, bytes));
    expect(error.message).toContain("at the variable 'bomb'");
    expect(await shown("1 + 1", "victim")).toBe("2");
    expect(await shown("kept")).toBe("'kept'");
    for (const context of ["evil", "victim"]) box.send({ type: "context.close", context });
  });
});

describe("an image without cloudpickle", () => {
  it("saves data, and says why functions are lost", async () => {
    const plain = await Sandbox.start({ image: "sandbar/node:latest" });
    try {
      await plain.run(
        "import math\nx = [1]\ny = {'x': x, 'pi': math.pi}\ndef f(): pass\nclass C: pass\nc = C()",
      );
      const saved = await dump(plain, "python");
      const told = fates(saved);
      expect(told).toMatchObject({ x: "saved", y: "saved", math: "saved" });
      for (const name of ["f", "C", "c"]) expect(told[name]).toMatch(/^lost: .*need cloudpickle/);
      expect(fates(await load(plain, "other", "python", FORMAT, saved.bytes))).toEqual(told);
      const ran = await plain.run("y['x'] is x, math.floor(y['pi'])", { context: "other" });
      expect(ran.results).toEqual([{ "text/plain": "(True, 3)" }]);
    } finally {
      await plain.stop();
    }
  });
});
