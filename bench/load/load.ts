/**
 * `node bench/load/load.ts real|simulated [sessions] [--write]`: that many sessions at once on three daemons, all with
 * work, in steps; latency, and memory of control plane and daemons by the number of sessions. Not part of the suite.
 *
 * @module
 */
import { cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { summarize } from "../statistics.ts";
import { Fleet, type Guests } from "./fleet.ts";
import { memoryMb } from "./process-memory.ts";
import { writeReport } from "./report.ts";

const LIMITS = { memory_mb: 96, tmpfs_mb: 16, cpus: 0.2, pids: 64 };
const USUAL = { real: 100, simulated: 1000 };
const STEPS = [0.25, 0.5, 1];
const CELLS = 10;
const CREATING_AT_ONCE = { real: 4, simulated: 25 };
const SETTLE_MS = 3_000;
/** A machine that has other work makes fewer, and the report says how many. */
const MAKING_MINUTES = 2;

const guests = process.argv[2] as Guests;
if (guests !== "real" && guests !== "simulated") {
  console.error("Usage: node bench/load/load.ts real|simulated [sessions] [--write]");
  process.exit(2);
}
const most = Number(process.argv[3]) || USUAL[guests];
const say = (line: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

say(`three daemons with ${guests} guests; load ${loadavg()[0]!.toFixed(1)}`);
const before = loadavg()[0]!;
const fleet = await Fleet.start({ guests, sessionsPerHost: Math.ceil(most / 3) + 20 });
const rows: string[][] = [];
try {
  const client = fleet.client();
  const sessions: string[] = [];
  // Code is loaded and objects are awake before anything is compared.
  await cells(client, [await create(client)], 3);
  const empty = memory();
  rows.push(["1", "", "", "", "", "", ...empty.map((mb) => mb.toFixed(0)), "", ""]);
  const until = Date.now() + MAKING_MINUTES * 60_000;
  for (const step of STEPS) {
    if (Date.now() >= until) break;
    const wanted = Math.round(most * step);
    const began = performance.now();
    const created: number[] = [];
    const creating = async () => {
      while (sessions.length < wanted && Date.now() < until) {
        const at = sessions.push("") - 1;
        const start = performance.now();
        sessions[at] = await create(client);
        created.push(performance.now() - start);
      }
    };
    await Promise.all(Array.from({ length: CREATING_AT_ONCE[guests] }, creating));
    const creation = summarize(created);
    say(`${sessions.length} sessions after ${((performance.now() - began) / 1000).toFixed(0)} s`);
    const { took, seconds, failed } = await cells(client, sessions, CELLS);
    const cell = percentiles(took);
    await sleep(SETTLE_MS);
    const now = memory();
    const each = (at: number) => ((now[at]! - empty[at]!) / sessions.length) * 1024;
    rows.push([
      String(sessions.length),
      creation.median.toFixed(0),
      cell.p50.toFixed(0),
      cell.p99.toFixed(0),
      (took.length / seconds).toFixed(0),
      String(failed),
      ...now.map((mb) => mb.toFixed(0)),
      each(0).toFixed(0),
      each(1).toFixed(0),
    ]);
    say(rows.at(-1)!.join(" | "));
  }
  const after = loadavg()[0]!;
  writeReport("bench/load", guests, [
    `${guests === "real" ? "Real containers" : "Simulated guests"} (${guests === "real" ? `limits ${JSON.stringify(LIMITS)}` : "real Worker, real daemons, real sockets, no code runs"}), ${cpus().length} cores, three daemons and the control plane on one machine, loopback. Load of the machine before ${before.toFixed(1)}, at the end ${after.toFixed(1)}.`,
    ...(sessions.length < most
      ? [`${most} were wanted; making them was given up after ${MAKING_MINUTES} minutes.`]
      : []),
    `All sessions have one cell at a time, ${CELLS} each, one after another; latency is the client's.`,
    [
      "| sessions | create, ms p50 | cell, ms p50 | p99 | cells/s | failed | workerd, MB | three daemons, MB | workerd, KB a session | daemons, KB a session |",
      "|---|---|---|---|---|---|---|---|---|---|",
      ...rows.map((row) => `| ${row.join(" | ")} |`),
    ].join("\n"),
  ]);
} finally {
  await fleet.close();
}
process.exit(0);

/** Of workerd, and of the daemons together. */
function memory(): [number, number] {
  const daemons = fleet.daemons.reduce((sum, { pid }) => sum + memoryMb(pid), 0);
  return [memoryMb(fleet.stack.workerdPid), daemons];
}

async function create(client: Client): Promise<string> {
  const { id } = await client.create({ limits: LIMITS, idle_ttl_s: 7200 });
  return id;
}

async function cells(client: Client, sessions: readonly string[], each: number) {
  const took: number[] = [];
  let failed = 0;
  const began = performance.now();
  await Promise.all(
    sessions.map(async (session) => {
      for (let i = 0; i < each; i++) {
        const start = performance.now();
        const { status } = await client.run(session, guests === "real" ? "1+1" : `op-${i}`);
        took.push(performance.now() - start);
        if (status !== "ok") failed++;
      }
    }),
  );
  return { took, failed, seconds: (performance.now() - began) / 1000 };
}

function percentiles(samples: readonly number[]) {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { p50: at(0.5), p99: at(0.99) };
}
