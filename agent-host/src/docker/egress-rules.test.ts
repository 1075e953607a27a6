import { describe, expect, it } from "vitest";
import { egressNames, egressRules, resolversOf } from "./egress-rules.ts";

const names = egressNames("hst_01k9abcdefghijklmnopqrstuv");

describe("egress rules", () => {
  it("have names that Linux takes", () => {
    expect(names.bridge.length).toBeLessThanOrEqual(15);
    expect(names.forwardChain.length).toBeLessThanOrEqual(28);
  });

  it("let name servers answer, refuse metadata even where private addresses are allowed, then the private ranges", () => {
    const rules = egressRules(names, { resolvers: ["10.0.0.2"], allow: ["10.1.0.0/16"] });
    const at = (text: string) => rules.indexOf(`${names.forwardChain} ${text}`);
    expect(at("-d 10.0.0.2 -p udp --dport 53 -j RETURN")).toBeGreaterThan(0);
    expect(at("-d 169.254.0.0/16 -j REJECT")).toBeGreaterThan(at("-d 10.0.0.2 -p udp"));
    expect(at("-d 10.1.0.0/16 -j RETURN")).toBeGreaterThan(at("-d 169.254.0.0/16 -j REJECT"));
    expect(at("-d 10.0.0.0/8 -j REJECT")).toBeGreaterThan(at("-d 10.1.0.0/16 -j RETURN"));
    expect(rules).toContain(`-A ${names.inputChain} -j REJECT\n`);
  });

  it("have a rule for everything that is not the public internet, as datasets have", () => {
    const rules = egressRules(names, { resolvers: [], allow: ["168.63.129.16/32"] });
    for (const range of [
      "168.63.129.16/32",
      "192.0.0.0/24",
      "100.64.0.0/10",
      "203.0.113.0/24",
      "224.0.0.0/3",
    ])
      expect(rules).toContain(`-d ${range} -j REJECT\n`);
    const metadata = rules.indexOf("-d 168.63.129.16/32 -j REJECT");
    expect(metadata).toBeLessThan(rules.indexOf("-d 168.63.129.16/32 -j RETURN"));
  });

  it("find name servers that are not on loopback", () => {
    expect(resolversOf("# x\nnameserver 127.0.0.53\nnameserver 10.0.0.2\nnameserver fd00::1\n")).toEqual([
      "10.0.0.2",
    ]);
  });
});
