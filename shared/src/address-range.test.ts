import { BlockList } from "node:net";
import fc from "fast-check";
import { expect, it } from "vitest";
import { liesIn } from "./address-range.ts";
import { SPECIAL_V4, SPECIAL_V6 } from "./special-addresses.ts";

const hostOf = (address: string) => new URL(`http://${address}`).hostname;
const SPECIAL = [...SPECIAL_V4, ...SPECIAL_V6];

it.each([
  ["10.1.2.3", true],
  ["11.1.2.3", false],
  ["172.31.255.255", true],
  ["172.32.0.0", false],
  ["198.51.100.7", true],
  ["255.255.255.255", true],
  ["0x7f.1", true],
  ["2130706433", true],
  ["[::1]", true],
  ["[::ffff:127.0.0.1]", true],
  ["[::ffff:8.8.8.8]", false],
  ["[fd12::1]", true],
  ["[fe80::1]", true],
  ["[64:ff9b::a00:1]", true],
  ["[2606:4700:4700::1111]", false],
  ["[1:2:3:4:5:6:7:8]", false],
  ["api.openai.com", false],
])("%s among the special addresses: %s", (address, expected) => {
  expect(liesIn(hostOf(address), SPECIAL)).toBe(expected);
});

it("says what Node's BlockList says", () => {
  const list = new BlockList();
  for (const range of SPECIAL) {
    const [net = "", prefix] = range.split("/");
    list.addSubnet(net, Number(prefix), net.includes(":") ? "ipv6" : "ipv4");
  }
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(liesIn(hostOf(address), SPECIAL)).toBe(list.check(address, "ipv4"));
    }),
  );
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      expect(liesIn(hostOf(`[${address}]`), SPECIAL)).toBe(list.check(address, "ipv6"));
    }),
  );
});
