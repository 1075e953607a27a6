/**
 * `npm start`: the whole product on one machine. Prepares what is missing, starts the control plane and one
 * agent-host, keeps both running, and stops them on Ctrl-C. Sessions live on and are adopted by the next start.
 *
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { ensureImages, IMAGE_NAMES, type ImageName } from "@sandbar/agent-host/setup/images.ts";
import { endGuests } from "@sandbar/agent-host/src/wasm/guest-process.ts";
import { configFromEnv, Sandbar } from "@sandbar/sdk";
import { argumentsOf } from "./arguments.ts";
import { askedEngine, chooseEngine, enginesInUse, type HostEngine } from "./engine-choice.ts";
import { claimHome, type Home, homeFromEnv, REPO } from "./home.ts";
import { joinHost, waitForHost } from "./join.ts";
import { listenablePort, portFromEnv } from "./port.ts";
import { Supervised } from "./supervisor.ts";

const HELP = `Starts Sandbar on this machine: control plane, agent-host, Docker engine and images as needed.
Where there is no Docker engine and none can be set up, sessions run Python in WebAssembly.

Usage: npm start [-- --engine container|wasm]   (or sandbar up)

  --engine       what runs sessions, and nothing else (default: containers, else WebAssembly)

Environment:
  SANDBAR_ENGINE the same, as docker or wasm
  SANDBAR_PORT   port to listen on (default 8787)
  SANDBAR_HOST   address to listen on (default 127.0.0.1)
  SANDBAR_HOME   where everything is kept (default .sandbar)
  SANDBAR_IMAGES sandbox images to have, comma-separated (default python,node,r)

Ctrl-C stops the product; sessions stay and are adopted by the next start. \`npm run down\` removes them.`;

/** agent-host's exit status when the operator has removed this host. */
const REMOVED = 4;
/** What a killed start has left gets this long to let go of the port. */
const ORPHANS_LEAVE_MS = 15_000;
/** A host in WebAssembly makes a snapshot of Python's memory before it goes online for the first time. */
const ONLINE_MS: Record<HostEngine, number> = { docker: 30_000, wasm: 180_000 };

/** What runs a command where this start is, for people who are elsewhere: the compose file says it. */
const REACHED_BY = process.env.SANDBAR_REACHED_BY;

const { engine: engineFlag } = argumentsOf(HELP, { engine: { type: "string" } });
const home = homeFromEnv();
const began = Date.now();
const say = (line: string) =>
  console.log(`[${((Date.now() - began) / 1000).toFixed(1).padStart(6)}s] ${line}`);

const claim = await claimHome(home);
if (claim.heldBy !== null) {
  console.error(
    `Sandbar already runs (pid ${claim.heldBy}) with ${home.root}. Stop it with Ctrl-C there, or set SANDBAR_HOME and SANDBAR_PORT.`,
  );
  process.exit(1);
}

const children: Supervised[] = [];
let stopping = false;
async function stopAll(code: number): Promise<never> {
  stopping = true;
  // The daemon first: it says goodbye to the control plane while that still listens.
  for (const child of children.toReversed()) await child.stop();
  process.exit(code);
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    if (stopping) return;
    const removal = REACHED_BY ? "docs/compose.md says how they go" : "npm run down removes them";
    say(`stopping; sessions stay for the next start (${removal})`);
    void stopAll(0);
  });

try {
  const asked = askedEngine(engineFlag);
  const names = imageNames();
  if (claim.afterCrash) say("the last start did not end cleanly; taking over what it left");
  const port = await listenablePort(
    process.env.SANDBAR_HOST ?? "127.0.0.1",
    portFromEnv(),
    claim.afterCrash ? ORPHANS_LEAVE_MS : 0,
  );
  const served = startControlPlane(home, port);
  // Whether it came up is asked only after the image, which may take minutes.
  served.catch(() => {});
  const engine = await chooseEngine({
    asked,
    inUse: enginesInUse(home.root),
    ensureDocker: () => ensureDockerEngine({ log: say }),
    say,
  });
  if (engine === "docker") {
    await endGuests(home.root);
    await ensureImages({ names: [names[0]!], log: say });
  }
  const url = await served;
  const after = await joinHost({ url, home, say });
  startAgentHost(home, url, engine);
  await waitForHost({ url, home, after, withinMs: ONLINE_MS[engine] });
  await welcome(url, home);
  if (engine === "docker" && names.length > 1)
    void ensureImages({ names: names.slice(1), log: say }).then(
      () => say(`images ready: ${names.join(", ")}`),
      (error) => say(`an image could not be built; its runtime is not offered: ${(error as Error).message}`),
    );
  const ends = children.map((child) => child.done);
  // Without this host the control plane still has artifacts, keys and perhaps other hosts to serve.
  if ((await Promise.race(ends)) === REMOVED) await Promise.all(ends);
  if (!stopping) await stopAll(1);
} catch (error) {
  console.error(`\nSandbar could not start: ${(error as Error).message}`);
  await stopAll(1);
}

function imageNames(): ImageName[] {
  const names = (process.env.SANDBAR_IMAGES || IMAGE_NAMES.join(",")).split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !IMAGE_NAMES.includes(name as ImageName));
  if (unknown.length > 0)
    throw new Error(
      `SANDBAR_IMAGES has ${unknown.map((name) => JSON.stringify(name)).join(", ")}; known are ${IMAGE_NAMES.join(", ")}`,
    );
  return names as ImageName[];
}

function startControlPlane(home: Home, port: number): Promise<string> {
  say("starting the control plane");
  return new Promise((resolve, reject) => {
    const child = new Supervised({
      name: "control plane",
      command: [process.execPath, join(REPO, "worker/local/main.ts")],
      env: { SANDBAR_HOME: home.root, SANDBAR_PORT: String(port) },
      logFile: join(home.logs, "control-plane.log"),
      final: {},
      say,
      onLine: (line) => {
        if (line.startsWith("{")) resolve((JSON.parse(line) as { url: string }).url);
      },
    });
    children.push(child);
    setTimeout(
      () => reject(new Error(`the control plane did not come up; see ${home.logs}/control-plane.log`)),
      90_000,
    ).unref();
  });
}

function startAgentHost(home: Home, url: string, engine: HostEngine): void {
  say(
    `starting agent-host${engine === "wasm" ? "; the first time, Python in WebAssembly takes about 15 s to prepare" : ""}`,
  );
  children.push(
    new Supervised({
      name: "agent-host",
      command: [process.execPath, join(REPO, "agent-host/src/main.ts"), "run"],
      env: { SANDBAR_HOME: home.root, SANDBAR_URL: url, SANDBAR_ENGINE: engine },
      logFile: join(home.logs, "agent-host.log"),
      final: {
        3: "a newer agent-host took over this host id",
        [REMOVED]:
          "this host was removed; the control plane serves on, and the next start joins this machine as a new host",
      },
      say,
    }),
  );
}

async function welcome(url: string, home: Home): Promise<void> {
  const relative = home.keyFile.startsWith(`${process.cwd()}/`)
    ? home.keyFile.slice(process.cwd().length + 1)
    : home.keyFile;
  const apiKey = existsSync(home.keyFile) ? readFileSync(home.keyFile, "utf8").trim() : "";
  if (apiKey.length < 40) throw new Error("no API key was made");
  const showKey = `${REACHED_BY ? `${REACHED_BY} ` : ""}cat ${relative}`;
  const link = await new Sandbar({ url, apiKey }).consoleLink();
  const settings = [
    ...(url === configFromEnv({}).url ? [] : [`SANDBAR_URL=${url}`]),
    ...(home.root === join(REPO, ".sandbar") ? [] : [`SANDBAR_HOME=${home.root}`]),
  ];
  console.log(`
Sandbar serves at ${url}   (docs: ${url}/docs, logs: ${home.logs})
API key: ${REACHED_BY ? showKey : relative}

Open the console; this link signs you in once, within 10 minutes (${REACHED_BY ?? "npx"} sandbar console makes another):

  ${link.url}

Try it:

  KEY=$(${showKey}); SESSION=$(curl -s ${url}/v1/sessions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"key":"demo"}' | sed 's/.*"id":"\\([^"]*\\)".*/\\1/'); curl -s ${url}/v1/sessions/$SESSION/executions -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '{"code":"print(6 * 7)"}'

${REACHED_BY ? "Or" : "Or, in this folder"}:

  ${[...(REACHED_BY ? [REACHED_BY] : [...settings, "npx"]), "sandbar run -c 'print(6 * 7)'"].join(" ")}
`);
}
