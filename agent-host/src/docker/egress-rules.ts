/** @module What sessions with network may reach, as packet filter rules. Decided here, without I/O. */
import { METADATA_V4, SPECIAL_V4 } from "@sandbar/shared";

export interface EgressNames {
  readonly network: string;
  /** Linux allows 15 characters. */
  readonly bridge: string;
  /** For packets to the host itself, and for packets through it. */
  readonly inputChain: string;
  readonly forwardChain: string;
}

/** Several hosts may share one machine; each has a network of its own. */
export function egressNames(hostId: string): EgressNames {
  const tail = hostId.slice(-11);
  return {
    network: `sandbar-egress-${tail}`,
    bridge: `sbr-${tail}`,
    inputChain: `SANDBAR-IN-${tail}`,
    forwardChain: `SANDBAR-OUT-${tail}`,
  };
}

/** Input for `iptables-restore --noflush`, which replaces each chain in one step. */
export function egressRules(
  names: EgressNames,
  { resolvers, allow }: { resolvers: readonly string[]; allow: readonly string[] },
): string {
  const { inputChain, forwardChain } = names;
  const dns = (chain: string) =>
    resolvers.flatMap((address) =>
      ["udp", "tcp"].map((protocol) => `-A ${chain} -d ${address} -p ${protocol} --dport 53 -j RETURN`),
    );
  const lines = [
    "*filter",
    `:${inputChain} - [0:0]`,
    `:${forwardChain} - [0:0]`,
    ...dns(inputChain),
    `-A ${inputChain} -j REJECT`,
    `-A ${forwardChain} -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN`,
    ...dns(forwardChain),
    // No setting opens these.
    ...METADATA_V4.map((range) => `-A ${forwardChain} -d ${range} -j REJECT`),
    ...allow.map((range) => `-A ${forwardChain} -d ${range} -j RETURN`),
    ...SPECIAL_V4.map((range) => `-A ${forwardChain} -d ${range} -j REJECT`),
    "COMMIT",
  ];
  return `${lines.join("\n")}\n`;
}

/** Where the chains are hung up; each is looked for before it is inserted. */
export function egressJumps({ bridge, inputChain, forwardChain }: EgressNames): string[][] {
  return [
    ["INPUT", "-i", bridge, "-j", inputChain],
    ["DOCKER-USER", "-i", bridge, "-j", forwardChain],
  ];
}

/** The name servers that containers are given; a loopback address is Docker's own affair. */
export function resolversOf(resolvConf: string): string[] {
  const found = Array.from(resolvConf.matchAll(/^\s*nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm), (m) => m[1]!);
  return [...new Set(found)].filter((address) => !address.startsWith("127."));
}
