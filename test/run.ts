/**
 * `npm test`: runs its stages until one fails, and ends with one plain line, `N passed, N failed`.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensureDockerEngine, NoDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { ensureImages } from "@sandbar/agent-host/setup/images.ts";
import { buildWorker } from "@sandbar/worker/build.ts";
import { branchBase, filesChanged, testsDriving } from "./run/changes.ts";
import { ensureChromium } from "./run/chromium.ts";
import { type FileTime, judged, slowest, type Tally } from "./run/tally.ts";
import { HELP, hasTests, type Stage, type Wanted, wantedBy } from "./run/wanted.ts";
import { mayLeaveOut, needsDocker } from "./run/without-docker.ts";

const REPO = resolve(import.meta.dirname, "..");
const CACHE = join(REPO, "node_modules/.cache");
const TALLY = join(CACHE, "sandbar-test-tally.json");
const LIST = join(CACHE, "sandbar-test-list.json");
const CI = process.env.CI === "true";
const began = Date.now();
const say = (line: string) =>
  console.log(`[${((Date.now() - began) / 1000).toFixed(1).padStart(6)}s] ${line}`);

const COMMANDS: Record<Exclude<Stage, "unit" | "workerd" | "e2e">, string[]> = {
  format: ["biome", "format", "."],
  lint: ["biome", "check", "--formatter-enabled=false", "."],
  types: ["tsc", "-b"],
  build: [process.execPath, "--disable-warning=ExperimentalWarning", "worker/deploy/deploy.ts", "--dry-run"],
};

let passed = 0;
let failed = 0;
let skipped = 0;
const times: FileTime[] = [];

let running: ChildProcess | null = null;
// Commands of ours are in a session of their own, so the terminal's Ctrl-C reaches only this process.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    if (!running) process.exit(1);
    running.kill(signal);
  });

try {
  const wanted = wantedBy(process.argv.slice(2));
  if (wanted.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  await runStages(wanted);
} catch (error) {
  console.error(error instanceof Error && !process.env.DEBUG ? error.message : error);
  failed++;
}
if (times.length > 1) console.log(`\nThe slowest files:\n${slowest(times).join("\n")}`);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);
process.exit(failed === 0 ? 0 : 1);

async function runStages(wanted: Wanted): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const chosen = await chosenFiles(wanted);
  if (chosen?.length === 0 && wanted.changed === null) throw new Error("No test matches.");
  for (const [index, stage] of wanted.stages.entries()) {
    const files = chosen?.filter(({ project }) => project === stage).map(({ file }) => file);
    if (hasTests(stage) && files?.length === 0) continue;
    const from = Date.now();
    const failures = hasTests(stage)
      ? await runTests(
          stage,
          wanted.changed === null ? wanted.vitest : [...wanted.vitest, ...(files ?? [])],
          files,
        )
      : await runCheck(stage);
    say(`${stage}: ${failures === 0 ? "ok" : "FAILED"} in ${((Date.now() - from) / 1000).toFixed(1)} s`);
    const left = wanted.stages.slice(index + 1);
    if (failures > 0 && left.length > 0) say(`not run: ${left.join(", ")}`);
    if (failures > 0) return;
  }
}

async function runCheck(stage: keyof typeof COMMANDS): Promise<number> {
  const ok = (await run(COMMANDS[stage])) === 0;
  if (ok) passed++;
  else failed++;
  return ok ? 0 : 1;
}

/** How many failed. Without files, all of the stage's run. */
async function runTests(stage: Stage, args: readonly string[], files?: readonly string[]): Promise<number> {
  if (stage === "e2e") {
    const lacking = await missingDocker();
    if (lacking === null) {
      const browsed = files?.some((file) => file.includes("/test/console/")) ?? true;
      if (browsed) await ensureChromium({ log: say });
      await ensureImages({ names: ["python", "node", "r"], log: say });
    } else {
      mayLeaveOut(lacking, CI);
      const tests = await listed(["--project", stage, ...args], false);
      const left = tests.filter(({ file }) => needsDocker(file));
      skipped += left.length;
      say(`skipped ${left.length} tests of the stage ${stage}, which need Docker: ${lacking}`);
      if (left.length === tests.length) return 0;
      const rest = new Set(tests.map(({ file }) => file).filter((file) => !needsDocker(file)));
      args = [...args.filter((arg) => arg.startsWith("-")), ...rest];
    }
    await buildWorker();
  }
  rmSync(TALLY, { force: true });
  const reporters = ["--reporter=default", "--reporter=./test/run/tally-reporter.ts"];
  const code = await run(["vitest", "run", "--project", stage, ...reporters, ...args], {
    SANDBAR_TEST_TALLY: TALLY,
  });
  if (!existsSync(TALLY)) throw new Error(`vitest ended with ${code} before its tests did.`);
  const tally = JSON.parse(readFileSync(TALLY, "utf8")) as Tally;
  const result = judged(tally, CI);
  for (const name of tally.notRun) say(`not run: ${name}`);
  for (const name of tally.flaky)
    say(`FLAKY, passed at its second attempt${CI ? ", so it fails" : ""}: ${name}`);
  passed += result.passed;
  failed += result.failed;
  times.push(...tally.files);
  return result.failed;
}

/** The files that were asked for by name or by a change; null for all. */
async function chosenFiles({
  stages,
  vitest,
  changed,
}: Wanted): Promise<{ file: string; project: string }[] | null> {
  if (!stages.some(hasTests) || (vitest.length === 0 && changed === null)) return null;
  if (changed === null) return listed(vitest);
  const base = changed || branchBase(REPO);
  const driving = testsDriving(filesChanged(REPO, base));
  const found = await listed([`--changed=${base}`, ...vitest]);
  if (driving.length > 0 && vitest.length === 0) found.push(...(await listed(driving)));
  const byFile = Map.groupBy(found, ({ project, file }) => `${project} ${file}`);
  return [...byFile.values()].map(([first]) => first!);
}

/** Why there are no containers here; null when there are. */
async function missingDocker(): Promise<string | null> {
  try {
    await ensureDockerEngine({ log: say });
    return null;
  } catch (error) {
    if (error instanceof NoDockerEngine) return error.message;
    throw error;
  }
}

/** Files, or each of their tests. */
async function listed(
  args: readonly string[],
  filesOnly = true,
): Promise<{ file: string; project: string }[]> {
  rmSync(LIST, { force: true });
  const kind = filesOnly ? ["--filesOnly"] : [];
  const code = await run(["vitest", "list", ...kind, `--json=${LIST}`, ...args]);
  if (code !== 0 || !existsSync(LIST)) throw new Error(`vitest could not list the tests (${code}).`);
  const list = JSON.parse(readFileSync(LIST, "utf8")) as { file: string; projectName: string }[];
  return list.map(({ file, projectName }) => ({ file, project: projectName }));
}

function run(command: string[], env: Record<string, string> = {}): Promise<number> {
  const [file, ...args] = command;
  const path = `${join(REPO, "node_modules/.bin")}:${process.env.PATH}`;
  const child = spawn(file!, args, {
    cwd: REPO,
    stdio: "inherit",
    env: { ...process.env, ...env, PATH: path },
  });
  running = child;
  return new Promise<number>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (status) => resolve(status ?? 1));
  }).finally(() => {
    running = null;
  });
}
