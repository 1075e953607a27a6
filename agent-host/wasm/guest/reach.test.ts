import { networkInterfaces } from "node:os";
import { METADATA_V4, SPECIAL_V4, SPECIAL_V6 } from "@sandbar/shared";
import { expect, it } from "vitest";
import { HostReach } from "./reach.ts";

const refused = [...SPECIAL_V4, ...SPECIAL_V6];
const reach = (...allowed: string[]) => new HostReach({ refused, allowed, never: METADATA_V4 });

it("lets code reach the public internet, and of the rest what the operator opens", () => {
  const usual = reach();
  for (const address of ["8.8.8.8", "2606:4700::1111"]) expect(usual.has(address), address).toBe(true);
  for (const address of [
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "::1",
    "::ffff:10.1.2.3",
    "fe80::1",
    "0.0.0.0",
  ])
    expect(usual.has(address), address).toBe(false);
  const open = reach("10.0.0.0/8", "169.254.0.0/16");
  expect([open.has("10.1.2.3"), open.has("::ffff:10.1.2.3")]).toEqual([true, true]);
  expect(open.has("169.254.169.254")).toBe(false);
});

it("keeps code from this machine's own addresses, whatever they are", () => {
  const everything = new HostReach({ refused: [], allowed: [], never: [] });
  const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  expect(own.length).toBeGreaterThan(0);
  for (const { address } of own) expect(everything.has(address.split("%")[0]!), address).toBe(false);
});

it("judges addresses in URLs however they are written, and names by what they resolve to", async () => {
  const usual = reach();
  for (const url of [
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::1]/",
  ])
    expect(() => usual.requireHost(new URL(url)), url).toThrow(/private address/);
  const resolved = (allowed: string[]) =>
    new Promise((resolve) =>
      reach(...allowed).lookup("localhost", { all: true }, (error, found) =>
        resolve(error?.message ?? found),
      ),
    );
  expect(await resolved([])).toMatch(/^localhost is at a private address/);
  expect(await resolved(["127.0.0.1"])).toEqual([{ address: "127.0.0.1", family: 4 }]);
});
