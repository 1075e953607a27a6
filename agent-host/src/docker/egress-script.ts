/** @module The packet filter's changes as one shell script, whoever runs it. Decided here, without I/O. */
import { type EgressNames, egressJumps } from "./egress-rules.ts";

/** Seconds to wait for another program that changes the rules. */
const WAIT = "-w 5";

/** The engine's chain is in the tables of one of the two; of a machine that has neither the first one complains. */
const WHICH = `ipt=iptables
if ! $ipt ${WAIT} -S DOCKER-USER >/dev/null 2>&1 && iptables-legacy ${WAIT} -S DOCKER-USER >/dev/null 2>&1; then
  ipt=iptables-legacy
fi
ip6t=ip6\${ipt#ip}`;

export function filterScript(names: EgressNames, rules: string): string {
  const jumps = egressJumps(names).map(([chain, ...rule]) => insert("$ipt", chain!, rule));
  return `${WHICH}
$ipt ${WAIT} -S DOCKER-USER >/dev/null
$ipt-restore ${WAIT} --noflush <<'RULES'
${rules}RULES
${jumps.join("\n")}
# The network has no IPv6, but the bridge itself has a link-local address.
${insert("$ip6t", "INPUT", linkLocal(names))} || true
`;
}

/** What is not there any more need not be. */
export function unfilterScript(names: EgressNames): string {
  const quietly = (command: string) => `${command} 2>/dev/null || true`;
  return `${WHICH}
${egressJumps(names)
  .map((jump) => quietly(`$ipt ${WAIT} -D ${jump.join(" ")}`))
  .join("\n")}
${[names.inputChain, names.forwardChain]
  .flatMap((chain) => [quietly(`$ipt ${WAIT} -F ${chain}`), quietly(`$ipt ${WAIT} -X ${chain}`)])
  .join("\n")}
${quietly(`$ip6t ${WAIT} -D INPUT ${linkLocal(names).join(" ")}`)}
`;
}

const linkLocal = ({ bridge }: EgressNames) => ["-i", bridge, "-j", "DROP"];

function insert(program: string, chain: string, rule: readonly string[]): string {
  const words = rule.join(" ");
  return `${program} ${WAIT} -C ${chain} ${words} 2>/dev/null || ${program} ${WAIT} -I ${chain} 1 ${words}`;
}
