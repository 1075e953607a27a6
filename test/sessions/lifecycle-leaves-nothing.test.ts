/**
 * Whatever is created, used, stopped and killed in whatever order: afterwards Docker, the disk, the journal and the fleet are
 * as before. `SEED=<n>` repeats a run, `LIVES=<n>` makes it longer.
 */
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { mountsBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import type { Session } from "@sandbar/shared";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { docker, eventually, REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
const LANES = 8;
const LIVES = Number(process.env.LIVES ?? 200);
/** Faults that cost seconds are run a few times only, wherever the dice put them. */
const left = { "kill the daemon": 3, "kill the container": 25 };

const Step = fc.oneof(
  { weight: 6, arbitrary: fc.constant("run" as const) },
  { weight: 2, arbitrary: fc.constant("create again" as const) },
  { weight: 2, arbitrary: fc.constant("stop" as const) },
  { weight: 1, arbitrary: fc.constant("stop while it runs" as const) },
  { weight: 1, arbitrary: fc.constant("kill the kernel" as const) },
  { weight: 2, arbitrary: fc.constant("kill the container" as const) },
  { weight: 1, arbitrary: fc.constant("kill the daemon" as const) },
);
const Lane = fc.record({
  runtime: fc.constantFrom("bash" as const, "bash" as const, "bash" as const, "python" as const),
  limits: fc.constantFrom({}, {}, { memory_mb: 256 }),
  storage: fc.constantFrom("TMPFS", "BIND"),
  access: fc.constantFrom("NONE", "LOCAL_RO"),
  steps: fc.array(Step, { minLength: 1, maxLength: 5 }),
});
type Lane = typeof Lane extends fc.Arbitrary<infer T> ? T : never;
const { stack, client } = useStack({
  agentEnv: {
    SANDBAR_POOL: "bash=2,python=1",
    SANDBAR_POOL_MAX: "2",
    DATASETS_HOST_RO: join(REPO, "docs"),
  },
});

let restarting: Promise<unknown> = Promise.resolve();
let lanes = 0;

async function restartDaemon(): Promise<void> {
  restarting = restarting.then(async () => {
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
  });
  await restarting;
}

async function walk({ runtime, limits, storage, access, steps }: Lane): Promise<void> {
  const key = `lane-${lanes++}`;
  const create = async () => {
    for (;;) {
      const answer = await client.call<Session & { code: string }>("POST", "/v1/sessions", {
        key,
        runtime,
        limits,
        storage,
        datasets: { access },
      });
      if (answer.status < 300) return answer.body.id;
      // The daemon may have died under it.
      if (answer.body.code !== "CONTAINER_DIED" && answer.status !== 503)
        throw new Error(JSON.stringify(answer.body));
      await new Promise((done) => setTimeout(done, 100));
    }
  };
  let id = await create();
  const code = runtime === "bash" ? "echo $((40 + 2)) | tee -a /session/file" : "print(40 + 2)";
  const forever = runtime === "bash" ? "sleep 60" : "import time; time.sleep(60)";
  for (const step of steps) {
    if (step in left && left[step as keyof typeof left]-- <= 0) continue;
    if (step === "run") {
      const answer = await client.call<{ stdout: string; code: string }>(
        "POST",
        `/v1/sessions/${id}/executions`,
        { code },
      );
      if (answer.status < 300) expect(answer.body.stdout === "42\n" || answer.body.stdout === "").toBe(true);
      else
        expect(["SESSION_ENDED", "HOST_UNREACHABLE", "SESSION_STOPPED", "NOT_FOUND"]).toContain(
          answer.body.code,
        );
    } else if (step === "create again") id = await create();
    else if (step === "stop") await client.stop(id);
    else if (step === "kill the daemon") await restartDaemon();
    else if (step === "kill the container")
      await stack
        .containerOf(id)
        .then((container) => docker.getContainer(container.id).kill())
        .catch(() => {});
    else {
      const started = await client.call<{ id: string }>(
        "POST",
        `/v1/sessions/${id}/executions`,
        {
          code:
            step === "kill the kernel"
              ? runtime === "bash"
                ? "kill -9 $$"
                : "import os; os._exit(1)"
              : forever,
        },
        { prefer: "respond-async" },
      );
      if (step === "stop while it runs" || started.status >= 300) await client.stop(id);
      else await client.finished(id, started.body.id);
    }
  }
  await restarting;
  await client.stop(id);
}

const filesOf = (box: string) => join(stack.home, "boxes", box, "files");

/** Everything that is there beside the pool; empty when all is as before. */
async function traces(): Promise<Record<string, unknown>> {
  const db = new DatabaseSync(join(stack.home, "host/journal.sqlite"), { readOnly: true });
  const rows = (sql: string) => db.prepare(sql).all();
  const pool = rows("SELECT box, container FROM pool");
  const journal = {
    sessions: rows("SELECT id, state FROM sessions"),
    executions: rows("SELECT id, state FROM executions WHERE state <> 'acked'"),
    commands: rows("SELECT n FROM context_commands"),
    leaving: rows("SELECT box FROM leaving"),
  };
  db.close();
  const boxes = new Set(pool.map(({ box }) => String(box)));
  const containers = new Set(pool.map(({ container }) => String(container)));
  const host = await client.ok<{ sessions: number }>("GET", `/v1/hosts/${stack.hostId}`);
  const live: string[] = [];
  for (const status of ["creating", "ready", "busy", "stopping"])
    live.push(
      ...(await client.ok<{ data: Session[] }>("GET", `/v1/sessions?status=${status}`)).data.map(
        ({ id }) => id,
      ),
    );
  const found = {
    ...journal,
    live,
    reservations: host.sessions ? [host.sessions] : [],
    containers: (await stack.containers()).map(({ Id }) => Id).filter((id) => !containers.has(id)),
    boxes: readdirSync(join(stack.home, "boxes")).filter((box) => !boxes.has(box)),
    mounts: mountsBelow(stack.home).filter((mount) => ![...boxes].some((box) => mount === filesOf(box))),
  };
  return Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0));
}

async function asBefore(): Promise<void> {
  let last = {};
  await eventually("everything as before", 20_000, async () => {
    last = await traces();
    return Object.keys(last).length === 0;
  }).catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(last)}`);
  });
}

describe("sessions leave nothing behind", () => {
  it(`after ${LIVES} random lives (seed ${SEED})`, async () => {
    await asBefore();
    const began = Date.now();
    await fc.assert(
      fc.asyncProperty(fc.array(Lane, { minLength: LANES, maxLength: LANES }), async (together) => {
        await Promise.all(together.map(walk));
        await asBefore();
      }),
      {
        seed: SEED,
        numRuns: Math.ceil(LIVES / LANES),
        endOnFailure: true,
        includeErrorInReport: true,
      },
    );
    console.log(`seed ${SEED}: ${lanes} lives in ${Math.round((Date.now() - began) / 1000)} s`);
    expect(lanes).toBeGreaterThanOrEqual(LIVES);
  }, 600_000);

  it("and a drained host has not even a pool", async () => {
    await promisify(execFile)(process.execPath, [join(REPO, "agent-host/src/main.ts"), "drain"], {
      env: { ...process.env, SANDBAR_HOME: stack.home },
    });
    expect(await stack.containers()).toEqual([]);
    expect(readdirSync(join(stack.home, "boxes"))).toEqual([]);
    expect(mountsBelow(stack.home)).toEqual([]);
  });
});
