/**
 * The network of sessions with `network: "egress"`: a bridge of this host's own whose sessions reach the internet, but not each
 * other, this machine, or the networks around it.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { SandbarError } from "@sandbar/shared";
import type Docker from "dockerode";
import type { Log } from "../host/log.ts";
import { type EgressNames, egressJumps, egressNames, egressRules, resolversOf } from "./egress-rules.ts";

const run = promisify(execFile);
export const NETWORK_LABEL = "sandbar.network";
/** Seconds to wait for another program that changes the rules. */
const WAIT = ["-w", "5"];

export interface EgressSettings {
  readonly allow: readonly string[];
  /** The operator accepts sessions that can reach this machine where no filter can be installed. */
  readonly unfiltered: boolean;
}

export class Egress {
  readonly #docker: Docker;
  readonly #hostId: string;
  readonly #names: EgressNames;
  readonly #settings: EgressSettings;
  readonly #log: Log;
  #ensuring: Promise<void> | null = null;

  constructor(docker: Docker, hostId: string, settings: EgressSettings, log: Log) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#names = egressNames(hostId);
    this.#settings = settings;
    this.#log = log;
  }

  /** The network's name, with everything in force; each time anew, since a firewall's reload may have taken the rules. */
  async ensure(): Promise<string> {
    this.#ensuring ??= this.#ensure().finally(() => {
      this.#ensuring = null;
    });
    await this.#ensuring;
    return this.#names.network;
  }

  /** After a restart of the machine or the daemon, for sessions that run on. */
  async restore(): Promise<void> {
    if (await this.#exists()) await this.ensure();
  }

  async #ensure(): Promise<void> {
    if (!(await this.#exists())) await this.#create();
    try {
      await this.#filter();
    } catch (error) {
      const reason = reasonOf(error);
      if (!this.#settings.unfiltered)
        throw new SandbarError(
          "EGRESS_UNAVAILABLE",
          `this host cannot install the packet filter that keeps sessions away from it (${reason}); ` +
            "its operator can run the daemon as root with iptables, or set SANDBAR_EGRESS_UNFILTERED=1",
        );
      this.#log.warn({ reason }, "egress sessions are not filtered: they can reach this machine's own ports");
    }
  }

  async #exists(): Promise<boolean> {
    try {
      await this.#docker.getNetwork(this.#names.network).inspect();
      return true;
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode === 404) return false;
      throw error;
    }
  }

  async #create(): Promise<void> {
    const { network, bridge } = this.#names;
    try {
      await this.#docker.createNetwork({
        Name: network,
        Driver: "bridge",
        CheckDuplicate: true,
        Labels: { [NETWORK_LABEL]: this.#hostId },
        Options: {
          "com.docker.network.bridge.name": bridge,
          "com.docker.network.bridge.enable_icc": "false",
        },
      });
      this.#log.info({ network }, "made the egress network");
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode !== 409) throw error;
    }
  }

  async #filter(): Promise<void> {
    const resolvers = resolversOf(await readFile("/etc/resolv.conf", "utf8").catch(() => ""));
    await run("iptables", [...WAIT, "-S", "DOCKER-USER"]);
    await restore(egressRules(this.#names, { resolvers, allow: this.#settings.allow }));
    for (const [chain, ...rule] of egressJumps(this.#names))
      await run("iptables", [...WAIT, "-C", chain!, ...rule]).catch(() =>
        run("iptables", [...WAIT, "-I", chain!, "1", ...rule]),
      );
    // The network has no IPv6, but the bridge itself has a link-local address.
    const v6 = ["INPUT", "-i", this.#names.bridge, "-j", "DROP"];
    await run("ip6tables", [...WAIT, "-C", ...v6])
      .catch(() => run("ip6tables", [...WAIT, "-I", ...v6]))
      .catch((error) => this.#log.debug({ err: error }, "no IPv6 filter"));
  }
}

/** Removes a host's network and rules; nothing may be connected any more. */
export async function removeEgress(docker: Docker, hostId: string): Promise<void> {
  const filters = { label: [`${NETWORK_LABEL}=${hostId}`] };
  for (const { Id } of await docker.listNetworks({ filters })) await docker.getNetwork(Id).remove();
  const names = egressNames(hostId);
  const quietly = (program: string, ...args: string[]) => run(program, [...WAIT, ...args]).catch(() => {});
  for (const jump of egressJumps(names)) await quietly("iptables", "-D", ...jump);
  for (const chain of [names.inputChain, names.forwardChain]) {
    await quietly("iptables", "-F", chain);
    await quietly("iptables", "-X", chain);
  }
  await quietly("ip6tables", "-D", "INPUT", "-i", names.bridge, "-j", "DROP");
}

async function restore(rules: string): Promise<void> {
  const restoring = run("iptables-restore", [...WAIT, "--noflush"]);
  restoring.child.stdin!.on("error", () => {});
  restoring.child.stdin!.end(rules);
  await restoring;
}

function reasonOf(error: unknown): string {
  const { code, stderr, message } = error as { code?: string; stderr?: string; message: string };
  if (code === "ENOENT") return "iptables is not installed";
  return (stderr?.trim() || message).split("\n")[0]!.slice(0, 300);
}
