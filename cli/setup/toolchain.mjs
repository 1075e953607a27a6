// Runs one of the repository's commands on a machine that has nothing but Node 20+ and npm: makes sure of Node 24,
// pnpm and the dependencies, all inside the repository, then hands over. Plain JavaScript, because it runs before
// any of them is there.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { withFileLock } from "../../agent-host/setup/file-lock.mjs";

const NODE_VERSION = "24.21.0";
const PNPM_VERSION = "12.18.0";

const repo = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const toolchain = join(repo, ".toolchain");
const bin = join(toolchain, "bin");
const node = ["node", "--disable-warning=ExperimentalWarning"];
const setpriv = "/usr/bin/setpriv";
const parent = process.ppid;

const words = {
  start: { about: "set up what is missing and serve", command: [...node, "cli/src/up/up.ts"] },
  down: { about: "remove everything that start made", command: [...node, "cli/src/up/down.ts"] },
  test: { about: "run every test", command: [...node, "test/run.ts"] },
  bench: { about: "measure, side by side with the alternatives", command: [...node, "bench/run.ts"] },
  lint: { about: "check style", command: ["biome", "check", "."] },
  typecheck: { about: "check types", command: ["tsc", "-b"] },
  pack: { about: "write installable packages to dist/", command: [...node, "cli/setup/pack.ts"] },
  deploy: { about: "deploy the Worker to Cloudflare", command: [...node, "worker/deploy/deploy.ts"] },
  exec: { about: "run the given command with this toolchain", command: [] },
  "setup-only": { about: "stop after the set-up", command: undefined },
  "tools-only": { about: "set up Node and pnpm, and no dependencies", command: undefined },
};

const help = `Usage: node cli/setup/toolchain.mjs <word> [arguments]\n\n${Object.entries(words)
  .map(([word, { about }]) => `  ${word.padEnd(12)}${about}`)
  .join("\n")}\n`;

async function main([word, ...args]) {
  if (word === "--help" || word === "-h") {
    process.stdout.write(help);
    return;
  }
  if (!Object.hasOwn(words, word ?? "")) {
    process.stderr.write(help);
    process.exitCode = 2;
    return;
  }
  const ready = () => toolsReady() && (word === "tools-only" || dependenciesReady());
  if (!ready()) {
    await withFileLock(
      join(toolchain, "lock"),
      async () => {
        if (!toolsReady()) await installTools();
        if (!ready()) await installDependencies();
      },
      () => say("Waiting for another set-up of this folder to finish"),
    );
  }
  const { command } = words[word];
  if (!command || command.length + args.length === 0) return;
  // Ours are stopped in order when this process is killed; of a command given to `exec` nothing is known.
  const leash = command.length > 0 && existsSync(setpriv) ? [setpriv, "--pdeathsig", "TERM"] : [];
  await handOver([...leash, ...command, ...args]);
}

const say = (line) => process.stderr.write(`${line}\n`);

// Once there it stays, whatever Node runs this: it may be that very one, with a product or a test run on it.
const wantsOwnNode = () =>
  process.versions.node.split(".")[0] !== NODE_VERSION.split(".")[0] || existsSync(join(bin, "node"));

/** The tools that `.toolchain/bin` must have: name, npm package that carries the plain binary, path in it. */
function tools() {
  const target = `${process.platform}-${process.arch}`;
  const pnpm = {
    name: "pnpm",
    package: `@pnpm/exe.${target}`,
    version: PNPM_VERSION,
    file: "pnpm",
  };
  // The package `node` would fetch this one by an install script; asking for it directly needs no script.
  const ownNode = { name: "node", package: `node-${target}`, version: NODE_VERSION, file: "bin/node" };
  return wantsOwnNode() ? [ownNode, pnpm] : [pnpm];
}

const toolStamp = () => JSON.stringify(tools());
const toolStampFile = join(toolchain, "installed.json");

function toolsReady() {
  return (
    readOr(toolStampFile, "") === toolStamp() && tools().every(({ name }) => existsSync(join(bin, name)))
  );
}

async function installTools() {
  const wanted = tools();
  rmSync(toolStampFile, { force: true });
  rmSync(bin, { recursive: true, force: true });
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    join(toolchain, "package.json"),
    JSON.stringify({
      private: true,
      dependencies: Object.fromEntries(wanted.map((tool) => [tool.package, tool.version])),
    }),
  );
  await step(
    `Installing ${wanted.map(({ name, version }) => `${name} ${version}`).join(" and ")} into .toolchain`,
    [
      ...npm(),
      "install",
      "--prefix",
      toolchain,
      "--ignore-scripts",
      "--no-audit",
      "--no-fund",
      "--no-package-lock",
    ],
    { cwd: toolchain },
  );
  for (const tool of wanted) {
    symlinkSync(join("..", "node_modules", tool.package, tool.file), join(bin, tool.name));
  }
  writeFileSync(toolStampFile, toolStamp());
}

// Under `npm start` this is that very npm, even when no npm is in PATH.
function npm() {
  const script = process.env.npm_execpath;
  return script && /npm-cli\.js$/.test(script) ? [process.execPath, script] : ["npm"];
}

const lockFile = join(repo, "pnpm-lock.yaml");
const dependencyStampFile = join(repo, "node_modules", ".sandbar-installed");

function dependencyStamp() {
  const hash = createHash("sha256").update(NODE_VERSION);
  for (const file of [lockFile, join(repo, "pnpm-workspace.yaml")]) hash.update(readOr(file, ""));
  return hash.digest("hex");
}

const dependenciesReady = () => readOr(dependencyStampFile, "") === dependencyStamp();

async function installDependencies() {
  if (!existsSync(lockFile)) throw new Error(`${lockFile} is missing: this checkout is not complete.`);
  await step("Installing dependencies", ["pnpm", "install", "--frozen-lockfile"], {
    cwd: repo,
    env: commandEnv(),
  });
  writeFileSync(dependencyStampFile, dependencyStamp());
}

function readOr(file, fallback) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return fallback;
  }
}

function commandEnv() {
  const path = [bin, join(repo, "node_modules", ".bin"), dirname(process.execPath), process.env.PATH ?? ""];
  return { ...process.env, PATH: path.join(delimiter) };
}

/** One line when it begins, one when it is done; the command's own output only if it fails. */
async function step(title, [file, ...args], { cwd, env = process.env }) {
  const began = Date.now();
  const seconds = () => `${((Date.now() - began) / 1000).toFixed(1)} s`;
  say(`${title} …`);
  const ticker = setInterval(() => say(`  still at it, ${seconds()}`), 10_000);
  let output = "";
  try {
    // `npm run` exports its own folder as npm_config_local_prefix, which would win over ours.
    const { npm_config_local_prefix: _, ...rest } = env;
    const child = spawn(file, args, { cwd, env: { ...rest, CI: "true" }, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => {
        output = (output + text).slice(-8_000);
      });
    }
    const status = await new Promise((done, fail) => {
      child.once("error", fail);
      child.once("close", (code, signal) => done(signal ?? code));
    });
    if (status !== 0) throw new Error(`${file} ended with ${status}:\n${output.trimEnd()}`);
  } catch (error) {
    throw new Error(`${title} failed after ${seconds()}. ${error.message}`);
  } finally {
    clearInterval(ticker);
  }
  say(`  done in ${seconds()}`);
}

/** Runs the command to its end and ends as it ended. */
async function handOver([file, ...args]) {
  // A session of its own keeps the terminal's Ctrl-C from reaching the command directly: npm forwards the signal
  // that we and it got from the terminal, so the command would see two or three for one key.
  const child = spawn(file, args, { cwd: repo, env: commandEnv(), stdio: "inherit", detached: true });
  const last = new Map();
  const forward = (signal) => {
    const now = Date.now();
    if (now - (last.get(signal) ?? 0) > 500) child.kill(signal);
    last.set(signal, now);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"];
  for (const signal of signals) process.on(signal, forward);
  // npm that is killed passes no signal on. Any other parent, a shell say, may have gone on purpose.
  const byNpm = process.env.npm_package_json === join(repo, "package.json");
  const look = () => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    child.kill("SIGTERM");
  };
  const looking = byNpm ? setInterval(look, 1_000) : undefined;
  const [code, signal] = await new Promise((done, fail) => {
    child.once("error", (error) => fail(new Error(`Cannot run ${file}: ${error.message}`)));
    child.once("exit", (...status) => done(status));
  });
  clearInterval(looking);
  for (const name of signals) process.removeListener(name, forward);
  if (signal) {
    process.exitCode = 128 + constants.signals[signal];
    process.kill(process.pid, signal);
  } else {
    process.exitCode = code;
  }
}

main(process.argv.slice(2)).catch((error) => {
  say(error.message);
  process.exitCode = 1;
});
