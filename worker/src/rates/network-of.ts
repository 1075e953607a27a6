/** @module Whose an address is, for counting. */

/** Who has one address of IPv6 has the other 2^64 too. */
export function networkOf(address: string): string {
  if (!address.includes(":") || /^::ffff:\d/i.test(address)) return address;
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter(Boolean);
  if (tail !== undefined) while (groups.length < 8 - tail.split(":").filter(Boolean).length) groups.push("0");
  return `${groups.slice(0, 4).join(":")}::/64`;
}
