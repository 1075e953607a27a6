#!/usr/bin/env node
/** @module agent-host: runs the sessions of one Docker host. An older Node could not even load it, and is told so. */
import process from "node:process";

const OLDEST_NODE = 24;

if (Number(process.versions.node.split(".")[0]) >= OLDEST_NODE) await import("./command.ts");
else {
  process.stderr.write(`agent-host needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 2;
}
