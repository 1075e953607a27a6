/** @module The real daemon with simulated guests: what `agent-host run` is, but for its engine. */
import { EXIT, runDaemon } from "@sandbar/agent-host/src/daemon.ts";
import { readConfig } from "@sandbar/agent-host/src/host/config.ts";
import { readIdentity } from "@sandbar/agent-host/src/host/identity.ts";
import { createLog } from "@sandbar/agent-host/src/host/log.ts";
import { simulatedEngine } from "./simulated-engine.ts";

const config = readConfig(process.env);
const identity = readIdentity(config.home);
if (!identity) throw new Error(`${config.home} has not joined`);
const log = createLog(config.logLevel);
const fail = (error: unknown) => {
  log.fatal({ err: error }, "unhandled");
  process.exit(EXIT.failed);
};
process.on("unhandledRejection", fail);
process.on("uncaughtException", fail);
process.exit(
  await runDaemon(config, identity, log, "serve", async () =>
    simulatedEngine(config.home, process.env.SIMULATED_GUESTS!),
  ),
);
