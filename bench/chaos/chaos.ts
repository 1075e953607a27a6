/**
 * `node bench/chaos/chaos.ts real|simulated [sessions] [seconds] [--write]`: sessions at work on three daemons while
 * daemons and workerd are killed, links are cut and disks are full; then every client's log, every session's journal
 * and every ledger in a sandbox are laid beside each other. Needs root, for disks that may be filled. Not part of the
 * suite.
 *
 * @module
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "@sandbar/test/fixtures/seeded-random.ts";
import { eventually } from "@sandbar/test/fixtures/stack.ts";
import { Fleet, type Guests } from "../load/fleet.ts";
import { writeReport } from "../load/report.ts";
import { journalOf, operate } from "./clients.ts";
import { type Disks, faults } from "./faults.ts";
import { type SessionHistory, type Tally, tally, violations } from "./history.ts";

const LIMITS = { memory_mb: 128, tmpfs_mb: 16, cpus: 0.5, pids: 64 };
const USUAL = { real: 12, simulated: 60 };
const LEDGER = "/session/ledger.txt";
const DISK_MB = { daemons: 96, plane: 512 };

const guests = process.argv[2] as Guests;
if (guests !== "real" && guests !== "simulated") {
  console.error("Usage: node bench/chaos/chaos.ts real|simulated [sessions] [seconds] [--write]");
  process.exit(2);
}
const numbers = process.argv.slice(3).filter((argument) => /^\d+$/.test(argument));
const count = Number(numbers[0] ?? USUAL[guests]);
const seconds = Number(numbers[1] ?? 120);
const seed = Number(numbers[2] ?? Date.now() % 1_000_000);
const say = (line: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

/** Real code writes its name into a file of its sandbox; a simulated guest does it by itself. */
const codeOf = (name: string) =>
  guests === "simulated"
    ? name
    : `name = "${name}"\nwith open("${LEDGER}", "a") as ledger:\n    ledger.write(name + "\\n")\nprint(name)`;
const nameOf = (code: string) =>
  guests === "simulated" ? code : (/^name = "([^"]+)"/.exec(code)?.[1] ?? code);

const root = mkdtempSync(join(tmpdir(), "sandbar-chaos-"));
const daemonDisks = [0, 1, 2].map((number) => mount(join(root, `daemon-${number}`), DISK_MB.daemons));
const mounts = [...daemonDisks];

const before = loadavg()[0]!;
const fleet = await Fleet.start({
  guests,
  sessionsPerHost: count,
  homeOf: (daemon) => join(daemonDisks[daemon]!, "home"),
});
let failed = false;
try {
  let plane = "";
  await fleet.moveState((folder) => {
    plane = mount(folder, DISK_MB.plane);
    mounts.push(folder);
  });
  const disks: Disks = { daemons: daemonDisks, plane };
  const client = fleet.client();
  const sessions = await Promise.all(
    Array.from({ length: count }, async () => (await client.create({ limits: LIMITS, idle_ttl_s: 7200 })).id),
  );
  say(`${count} sessions with ${guests} guests; seed ${seed}`);
  const end = Date.now() + seconds * 1000;
  const over = () => Date.now() > end;
  const took: number[] = [];
  const [operations, done] = await Promise.all([
    Promise.all(sessions.map((session) => operate(client, session, codeOf, over, took))),
    faults(fleet, disks, seededRandom(seed), over, say),
  ]);
  say("faults are over; everything settles");
  for (const { relay } of fleet.daemons) relay.mend();
  await fleet.online();
  const histories: SessionHistory[] = [];
  const gone: string[] = [];
  for (const [at, session] of sessions.entries()) {
    await eventually("nothing of the session is open", 120_000, async () => {
      const journal = await journalOf(client, session, nameOf);
      return journal.every(({ status }) => status !== "queued" && status !== "running");
    }).catch((error) => say(String(error)));
    const { status, error } = await client.ok<{ status: string; error: { code: string } | null }>(
      "GET",
      `/v1/sessions/${session}`,
    );
    if (status !== "ready") gone.push(`${session}: ${status} ${error?.code ?? ""}`);
    histories.push({
      session,
      operations: operations[at]!,
      journal: await journalOf(client, session, nameOf),
      ledger: await ledgerOf(session),
    });
  }
  const wrong = histories.flatMap(violations);
  failed = wrong.length > 0;
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => `${(sorted[Math.floor((sorted.length - 1) * share)]! / 1000).toFixed(2)} s`;
  writeReport("bench/chaos", guests, [
    `${count} sessions with ${guests} guests on three daemons for ${seconds} s, seed ${seed}, ${cpus().length} cores, loopback. Load of the machine before ${before.toFixed(1)}, at the end ${loadavg()[0]!.toFixed(1)}.`,
    `**${wrong.length === 0 ? "No execution was lost, none ran twice" : `${wrong.length} violations`}.**`,
    `Faults: ${[...done].map(([name, times]) => `${name} ${times}`).join(", ")}. Daemons were started again ${fleet.daemons.reduce((sum, { restarts }) => sum + restarts, 0)} times, the control plane ${fleet.restartsOfControlPlane} times.`,
    `What there was: ${told(tally(histories))}. Until an answer, retries included: p50 ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}.`,
    gone.length === 0 ? "Every session lived to the end." : `Sessions that ended: ${gone.join("; ")}.`,
    ...(wrong.length > 0
      ? [
          wrong
            .slice(0, 50)
            .map((line) => `- ${line}`)
            .join("\n"),
        ]
      : []),
  ]);
} finally {
  await fleet.close().catch((error) => say(String(error)));
  for (const folder of mounts) spawnSync("umount", ["-l", folder]);
  rmSync(root, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

function told({ ended_otherwise, ...counts }: Tally): string {
  return Object.entries({ ...counts, ...ended_otherwise })
    .map(([name, times]) => `${name.replaceAll("_", " ")} ${times}`)
    .join(", ");
}

function mount(folder: string, mb: number): string {
  mkdirSync(folder, { recursive: true });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${mb}m,mode=711`, "sandbar-chaos", folder]);
  return folder;
}

/** Null when the sandbox is gone with its files. */
async function ledgerOf(session: string): Promise<string[] | null> {
  if (guests === "simulated") {
    for (const { aside } of fleet.daemons) {
      const ledgers = join(aside, "ledgers");
      if (readdirSync(ledgers).includes(`${session}.txt`))
        return readFileSync(join(ledgers, `${session}.txt`), "utf8")
          .split("\n")
          .filter(Boolean);
    }
    return [];
  }
  for (let attempt = 0; ; attempt++) {
    const answer = await fleet.client().call<string>("GET", `/v1/sessions/${session}/files?path=${LEDGER}`);
    if (answer.status === 200) return answer.body.split("\n").filter(Boolean);
    if (answer.status === 410 || attempt === 20) return null;
    await sleep(1000);
  }
}
