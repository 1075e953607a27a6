/**
 * Whether an address lies in one of the ranges of a list, without `node:net`: its BlockList in workerd throws on IPv4-mapped
 * addresses as URLs write them.
 *
 * @module
 */

interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

/** `host` as `URL.hostname` has it, which writes every form of an address in one way. Names lie nowhere. */
export function liesIn(host: string, ranges: readonly string[]): boolean {
  const address = addressOf(host);
  return address !== null && ranges.some((range) => contains(range, address));
}

function contains(range: string, { bits, value }: Address): boolean {
  const [net = "", prefix = ""] = range.split("/");
  const base = addressOf(net);
  if (base?.bits !== bits) return false;
  const rest = BigInt(bits - Number(prefix));
  return value >> rest === base.value >> rest;
}

/** An IPv4-mapped one is the IPv4 address that it leads to. */
function addressOf(host: string): Address | null {
  if (/^\d+(\.\d+){3}$/.test(host)) return { bits: 32, value: joined(host.split(".").map(Number), 8n) };
  if (!host.includes(":")) return null;
  const [before = "", after] = host.replace(/^\[|\]$/g, "").split("::");
  const [head, tail] = [groups(before), groups(after ?? "")];
  const zeros = after === undefined ? [] : Array<number>(8 - head.length - tail.length).fill(0);
  const value = joined([...head, ...zeros, ...tail], 16n);
  const mapped = value >> 32n === 0xffffn;
  return mapped ? { bits: 32, value: value & 0xffff_ffffn } : { bits: 128, value };
}

const groups = (text: string) =>
  text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));

const joined = (parts: readonly number[], width: bigint) =>
  parts.reduce((value, part) => (value << width) | BigInt(part), 0n);
