#!/usr/bin/env node
/** @module agent-host: runs the sessions of one Docker host. An older Node could not even load it, and is told so. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";

const OLDEST_NODE = 24;
/** They work with Node 20: what they install has a Node of its own. */
const INSTALLER = ["install", "doctor", "upgrade", "uninstall"];
const INSTALLED = "/opt/sandbar/agent-host";

const [major = 0] = process.versions.node.split(".").map(Number);
const [word = ""] = process.argv.slice(2);

if (INSTALLER.includes(word) && major >= 20) await import("./install/install-command.ts");
else if (major >= OLDEST_NODE) await import("./command.ts");
else if (["--help", "-h"].includes(word)) process.stdout.write((await import("./cli.ts")).USAGE);
else if (existsSync(INSTALLED)) {
  const { status } = spawnSync(INSTALLED, process.argv.slice(2), { stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(
    `agent-host needs Node ${OLDEST_NODE} or newer; this is ${process.versions.node}. ` +
      "`agent-host install` brings a Node of its own.\n",
  );
  process.exitCode = 2;
}
