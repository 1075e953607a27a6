import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { SseEvent } from "../fixtures/client.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("promises 2 and 8: gapless streams, bounded output", () => {
  const { client } = useStack();
  let session: string;

  beforeAll(async () => {
    session = (await client.create()).id;
  });

  it("resumes after Last-Event-ID wherever a reader was cut", async () => {
    const code = "import time\nfor i in range(40):\n    print(i, flush=True)\n    time.sleep(0.05)";
    const started = await client.start(session, code);
    const path = `/v1/sessions/${session}/executions/${started.id}/events`;
    const events: SseEvent[] = [];
    for (let attempt = 0; attempt < 100 && events.at(-1)?.event !== "finished"; attempt++) {
      const abort = new AbortController();
      try {
        for await (const event of client.events(path, {
          lastEventId: events.at(-1)?.id,
          signal: abort.signal,
        })) {
          events.push(event);
          if (events.length % 7 === 0) abort.abort();
        }
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      }
    }
    expect(events.map((event) => Number(event.id))).toEqual(events.map((_, index) => index + 1));
    expect(text(events)).toBe(Array.from({ length: 40 }, (_, i) => `${i}\n`).join(""));
    expect(events.filter((event) => event.event === "finished")).toHaveLength(1);
  });

  it("100 MB of output: the head is kept, the total is counted, the session lives", async () => {
    const execution = await client.run(
      session,
      "line = 'x' * 99 + '\\n'\nfor _ in range(1000): print(line * 1000, end='')",
      {
        timeout_s: 120,
      },
    );
    expect(execution.status).toBe("ok");
    expect(execution.stdout).toHaveLength(50_000);
    expect(execution.truncated.stdout).toBe(100_000_000);
    expect((await client.run(session, "1 + 1")).text).toBe("2");
  });

  it("a reader at 1 KB/s slows nobody", async () => {
    const started = await client.start(session, "for _ in range(3000): print('y' * 999)");
    const abort = new AbortController();
    const slow = (async () => {
      try {
        for await (const _ of client.events(`/v1/sessions/${session}/executions/${started.id}/events`, {
          signal: abort.signal,
          pace: (bytes) => sleep(bytes, undefined, { signal: abort.signal }),
        }));
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      }
    })();
    expect(await client.finished(session, started.id, 10_000)).toMatchObject({ status: "ok" });
    for (let i = 0; i < 20; i++) expect((await client.run(session, `${i}`)).text).toBe(`${i}`);
    const fast: SseEvent[] = [];
    for await (const event of client.events(`/v1/sessions/${session}/executions/${started.id}/events`))
      fast.push(event);
    expect(text(fast)).toBe(`${"y".repeat(999)}\n`.repeat(3000));
    abort.abort();
    await slow;
  });

  it("caps each field and reports the totals", async () => {
    const execution = await client.run(
      session,
      "import sys\nprint('o' * 60000)\nprint('e' * 130000, file=sys.stderr)\n'r' * 40000",
    );
    expect([execution.stdout.length, execution.stderr.length]).toEqual([50_000, 120_000]);
    expect(execution.text!.length).toBeLessThanOrEqual(30_000);
    expect(execution.truncated).toMatchObject({ stdout: 60_001, stderr: 130_001, result: 40_002 });
  });

  it("a value of any size is cut with its length told, or left out and named", async () => {
    for (const size of [900_000, 5_000_000]) {
      const cut = await client.run(session, `'€' * ${size}`);
      expect(cut).toMatchObject({ text: `'${"€".repeat(29_999)}`, truncated: { result: size + 2 } });
      const pages = `display({'text/html': 'h' * ${size}, 'text/plain': 'a page'}, raw=True)`;
      expect(await client.run(session, pages)).toMatchObject({
        results: [{ "text/plain": "a page" }],
        truncated: { results: 1, "text/html": size },
      });
    }
    const image = await client.run(session, "display({'image/png': b'p' * 900_000}, raw=True)");
    expect(image).toMatchObject({ results: [], truncated: { results: 1, "image/png": 1_200_000 } });
  });

  it("code that patches json, print and sys.stdout, or closes descriptors, breaks only itself", async () => {
    await client.run(
      session,
      "import json, sys, builtins, os\njson.dumps = lambda *a, **k: '{}'\njson.loads = None\nbuiltins.print = None",
    );
    expect((await client.run(session, "40 + 2")).text).toBe("42");
    await client.run(session, "sys.stdout.close(); os.close(1); os.close(2)");
    expect((await client.run(session, "import os; os.write(1, b'again')\n'alive'")).text).toBe("'alive'");
    const { id } = await client.create();
    expect((await client.run(id, "print('fresh')")).stdout).toBe("fresh\n");
  });

  it("a thread that prints later does not pollute the next cell", async () => {
    const { id } = await client.create();
    await client.run(
      id,
      "import threading, time, subprocess\ndef late():\n    time.sleep(0.3)\n    print('LATE')\nthreading.Thread(target=late).start()\nsubprocess.Popen('sleep 0.3; echo LATE', shell=True)\nNone",
    );
    const execution = await client.run(id, "time.sleep(0.8); print('mine')");
    expect(execution.stdout).toBe("mine\n");
  });
});

function text(events: SseEvent[]): string {
  return events
    .filter((event) => event.event === "stdout")
    .map((event) => event.data.text)
    .join("");
}
