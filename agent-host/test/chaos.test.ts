import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DaemonProcess } from "./daemon-process.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

/** The run prints its seed; CHAOS_SEED repeats it. */
const SEED = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? 12);

let plane: FakeControlPlane;
let daemon: DaemonProcess;
beforeAll(async () => {
  plane = await FakeControlPlane.start();
  daemon = await DaemonProcess.start(plane);
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
});

it(`every cell runs once and reports once, whatever dies when (seed ${SEED})`, {
  timeout: 180_000,
}, async () => {
  const [events] = fc.sample(
    fc.array(
      fc.record({ fault: fc.constantFrom("cut", "kill", "term", "repeat", "mute"), after: fc.nat(400) }),
      {
        minLength: ROUNDS,
        maxLength: ROUNDS,
      },
    ),
    { numRuns: 1, seed: SEED },
  );
  const sessions = [await daemon.createSession(), await daemon.createSession()];
  const cells: { session: string; execution: string; i: number }[] = [];
  let going = true;
  const load = (async () => {
    for (let i = 0; going; i++) {
      const session = sessions[i % 2]!;
      const pause =
        i % 7 === 0
          ? "import time\nfor k in range(8):\n    print('tick', k, flush=True)\n    time.sleep(0.05)\n"
          : "";
      const code = `${pause}with open('/session/log', 'a') as log: log.write('${i}\\n')\n${i}`;
      cells.push({ session, execution: daemon.run(session, code), i });
      await sleep(30);
    }
  })();

  for (const { fault, after } of events!) {
    await sleep(after);
    if (fault === "cut") plane.cut();
    else if (fault === "repeat") for (let n = 1; n < 2000; n++) plane.sendCommand(n);
    else if (fault === "mute") {
      plane.acks = false;
      await sleep(100);
      plane.acks = true;
      plane.cut();
    } else {
      await daemon.kill(fault === "kill" ? "SIGKILL" : "SIGTERM");
      await sleep(after / 4);
      await daemon.spawn();
    }
  }
  going = false;
  await load;

  for (const { execution, i } of cells) {
    const outcome = await daemon.outcome(execution);
    expect(outcome).toMatchObject({ status: "ok", text: String(i) });
    expect(outcome.stdout).toBe(
      i % 7 === 0 ? Array.from({ length: 8 }, (_, k) => `tick ${k}\n`).join("") : "",
    );
  }
  for (const session of sessions) {
    const mine = cells.filter((cell) => cell.session === session).map((cell) => `${cell.i}\n`);
    const log = daemon.run(session, "print(open('/session/log').read(), end='')");
    expect((await daemon.outcome(log)).stdout).toBe(mine.join(""));
    await daemon.stopSession(session);
  }
  expect(await daemon.leftovers()).toEqual({ containers: [], boxes: [], mounts: [] });
});
