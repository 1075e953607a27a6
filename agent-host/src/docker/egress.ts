/**
 * The network of sessions with `network: "egress"`: a bridge of this host's own whose sessions reach the internet, but not each
 * other, this machine, or the networks around it.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import type Docker from "dockerode";
import type { Log } from "../host/log.ts";
import { type EgressNames, egressNames, egressRules, resolversOf } from "./egress-rules.ts";
import { filterScript, unfilterScript } from "./egress-script.ts";
import type { RunScript } from "./packet-filter.ts";

export const NETWORK_LABEL = "sandbar.network";

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
  readonly #run: RunScript;
  readonly #log: Log;
  #ensuring: Promise<void> | null = null;

  constructor(docker: Docker, hostId: string, settings: EgressSettings, run: RunScript, log: Log) {
    this.#docker = docker;
    this.#hostId = hostId;
    this.#names = egressNames(hostId);
    this.#settings = settings;
    this.#run = run;
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
      const reason = (error as Error).message;
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
    const resolvers = resolversOf(await this.#run("cat /etc/resolv.conf || true"));
    const rules = egressRules(this.#names, { resolvers, allow: this.#settings.allow });
    await this.#run(filterScript(this.#names, rules));
  }

  /** Nothing may be connected any more. */
  remove(): Promise<void> {
    return removeEgress(this.#docker, this.#hostId, this.#run);
  }
}

/** Removes a host's network and rules. */
export async function removeEgress(docker: Docker, hostId: string, run: RunScript): Promise<void> {
  const filters = { label: [`${NETWORK_LABEL}=${hostId}`] };
  const networks = await docker.listNetworks({ filters });
  for (const { Id } of networks) await docker.getNetwork(Id).remove();
  await run(unfilterScript(egressNames(hostId))).catch(() => {});
}
