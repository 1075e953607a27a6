/** @module Ranges of addresses, and whether an address is in them. */
import { BlockList, isIP } from "node:net";

export function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = "", prefix] = range.split("/");
    const family = net.includes(":") ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(net, family);
    else list.addSubnet(net, Number(prefix), family);
  }
  return list;
}

export function contains(list: BlockList, address: string): boolean {
  // BlockList compares an IPv4-mapped IPv6 address with the IPv4 rules by itself.
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
