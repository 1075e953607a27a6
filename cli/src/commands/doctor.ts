/** @module `sandbar doctor`: each thing that must work, from near to far, with what to do when it does not. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { SandbarError } from "@sandbar/sdk";
import { ENGINES } from "@sandbar/shared";
import type { Command } from "commander";
import { type Cli, cli } from "../invocation/global-options.ts";
import { printJson } from "../terminal/print.ts";

const run = promisify(execFile);

interface Finding {
  check: string;
  state: "ok" | "warn" | "fail";
  detail: string;
  hint?: string;
}

type Check = (context: Cli) => Promise<Omit<Finding, "check">>;

const CHECKS: [name: string, check: Check][] = [
  ["Node", node],
  ["Docker", docker],
  ["control plane", controlPlane],
  ["API key", apiKey],
  ["hosts", hosts],
  ["a cell", cell],
];

export function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("check everything from this machine to a running cell")
    .action(async (_, command: Command) => {
      const context = cli(command);
      const findings: Finding[] = [];
      for (const [name, check] of CHECKS) {
        const finding = { check: name, ...(await check(context).catch(failed)) };
        findings.push(finding);
        if (context.output === "table") print(finding);
        // What lies behind a control plane that does not answer cannot be looked at.
        if (finding.state === "fail" && (name === "control plane" || name === "API key")) break;
      }
      if (context.output === "json") printJson(findings);
      process.exitCode = findings.some(({ state }) => state === "fail") ? 1 : 0;
    });
}

function print({ check, state, detail, hint }: Finding): void {
  const mark = { ok: "✓", warn: "!", fail: "✗" }[state];
  process.stdout.write(`${mark} ${check}: ${detail}\n`);
  if (hint && state !== "ok") process.stdout.write(`  ${hint}\n`);
}

function failed(error: Error): Omit<Finding, "check"> {
  return {
    state: "fail",
    detail: error.message,
    hint: error instanceof SandbarError ? error.hint : undefined,
  };
}

async function node(): Promise<Omit<Finding, "check">> {
  const major = Number(process.versions.node.split(".")[0]);
  return {
    state: major >= 20 ? "ok" : "fail",
    detail: process.versions.node + (major < 24 ? " (agent-host and the control plane need 24)" : ""),
    hint: "The command line and the SDK need Node 20 or newer.",
  };
}

async function docker({ config }: Cli): Promise<Omit<Finding, "check">> {
  try {
    const { stdout } = await run("docker", ["version", "--format", "{{.Server.Version}}"], { timeout: 5000 });
    return { state: "ok", detail: stdout.trim() };
  } catch {
    return {
      state: "warn",
      detail: "does not answer here",
      hint: `Only needed for sessions in containers on this machine; ${config.url} may have other hosts, or WebAssembly.`,
    };
  }
}

async function controlPlane({ client, config }: Cli): Promise<Omit<Finding, "check">> {
  const began = performance.now();
  await client.health();
  return { state: "ok", detail: `${config.url} answers in ${Math.round(performance.now() - began)} ms` };
}

async function apiKey({ client, config }: Cli): Promise<Omit<Finding, "check">> {
  if (!config.apiKey)
    return {
      state: "fail",
      detail: "none found",
      hint: "Set SANDBAR_API_KEY, or run `sandbar config set api_key <key>`.",
    };
  // Keys of every scope may ask this.
  await client.usage();
  return { state: "ok", detail: `accepted (from ${config.apiKeyFrom})` };
}

async function hosts({ client }: Cli): Promise<Omit<Finding, "check">> {
  try {
    const all = await client.hosts.list().all();
    const online = all.filter(({ status, cordoned }) => status === "online" && !cordoned);
    if (online.length === 0)
      return {
        state: "fail",
        detail: `${all.length} known, none takes sessions`,
        hint: all.some(({ status }) => status === "online")
          ? "`sandbar hosts uncordon <host>` puts a host back in service."
          : "Start agent-host, or `sandbar up`.",
      };
    const full = online.find(({ capacity }) => capacity?.refuses !== undefined);
    if (full)
      return {
        state: online.every(({ capacity }) => capacity?.refuses !== undefined) ? "fail" : "warn",
        detail: `${full.name} takes no new sessions: ${full.capacity!.refuses}`,
        hint: "Make room there: what sessions left is in SESSIONS_ROOT, volumes and artifacts in SANDBAR_HOME.",
      };
    const engines = new Set(
      online.flatMap(({ capacity }) => capacity?.engines ?? []).map(({ engine }) => engine),
    );
    const kinds = Array.from(engines, (engine) => ENGINES[engine].title).sort();
    const where = kinds.length ? `, in ${kinds.join(" and ")}` : "";
    return { state: "ok", detail: `${online.length} of ${all.length} take sessions${where}` };
  } catch (error) {
    if (error instanceof SandbarError && error.status === 403)
      return { state: "ok", detail: "not visible to this key (agent scope)" };
    throw error;
  }
}

async function cell({ client }: Cli): Promise<Omit<Finding, "check">> {
  const began = performance.now();
  const opened = await client.session({ labels: { "sandbar/cli": "doctor" } }).catch((error) => {
    if (error instanceof SandbarError && error.status === 403) return null;
    throw error;
  });
  if (!opened) return { state: "ok", detail: "not for this key (operator scope)" };
  await using session = opened;
  const ready = performance.now();
  const execution = (await session.run("print(6 * 7)")).ok();
  if (execution.stdout !== "42\n") throw new Error(`6 * 7 printed ${JSON.stringify(execution.stdout)}`);
  const [start, run] = [ready - began, performance.now() - ready];
  return { state: "ok", detail: `session in ${Math.round(start)} ms, result in ${Math.round(run)} ms` };
}
