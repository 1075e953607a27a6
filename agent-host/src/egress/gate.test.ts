import { networkInterfaces } from "node:os";
import { describe, expect, it } from "vitest";
import { addressesOf } from "./gate.ts";
import { endToEnd } from "./hop-headers.ts";
import { Reachable } from "./reachable.ts";

const at =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

describe("an address", () => {
  const reachable = new Reachable([]);
  it("that is not public is refused, in each of its forms", async () => {
    const private_ = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "168.63.129.16", "192.0.0.5", "100.64.0.1"];
    const v6 = [
      "::1",
      "::",
      "fd00:ec2::254",
      "fe80::1",
      "::ffff:10.0.0.1",
      "64:ff9b::7f00:1",
      "2002:7f00:1::",
    ];
    for (const address of [...private_, ...v6]) expect(reachable.has(address), address).toBe(false);
    for (const address of ["93.184.216.34", "2606:4700::1111"])
      expect(reachable.has(address), address).toBe(true);
  });

  it("of this machine is refused, even if it is public", () => {
    const own = Object.values(networkInterfaces()).flatMap((all) =>
      all!.map((one) => one.address.split("%")[0]!),
    );
    for (const address of own) expect(reachable.has(address), address).toBe(false);
  });

  it("is reached where the operator says so, metadata never", () => {
    const opened = new Reachable(["10.1.2.0/24", "169.254.0.0/16"]);
    expect(opened.has("10.1.2.3")).toBe(true);
    expect(opened.has("::ffff:10.1.2.3")).toBe(true);
    expect(opened.has("10.1.3.3")).toBe(false);
    expect(opened.has("169.254.169.254")).toBe(false);
    const wide = new Reachable(["fc00::/7", "fd00:ec2::254"]);
    expect(wide.has("fd12::1")).toBe(true);
    for (const address of ["fd00:ec2::254", "fd00:0ec2:0::0254", "fd20:ce::254"])
      expect(wide.has(address), address).toBe(false);
  });

  it("of this machine is opened by itself only, not with a range", () => {
    const range = new Reachable(["0.0.0.0/0", "::/0"]);
    const own = Object.values(networkInterfaces()).flatMap((all) =>
      all!.map((one) => one.address.split("%")[0]!),
    );
    for (const address of [...own, "127.0.0.2", "0.0.0.0", "::ffff:127.0.0.1"])
      expect(range.has(address), address).toBe(false);
    expect(range.has("10.254.1.2")).toBe(true);
    const named = new Reachable(["127.0.0.1"]);
    expect(["127.0.0.1", "127.0.0.2", "::1"].map((address) => named.has(address))).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe("a name", () => {
  const reachable = new Reachable([]);
  const gate = (...addresses: string[]) => ({ resolve: at(...addresses), reachable });
  const target = { host: "a.test", port: 443 };

  it("with one private address among its public ones is refused whole", async () => {
    await expect(addressesOf(gate("93.184.216.34", "10.0.0.1"), target)).rejects.toMatchObject({
      status: 403,
    });
    await expect(addressesOf(gate("93.184.216.34"), target)).resolves.toHaveLength(1);
  });

  it("that does not exist is said to", async () => {
    await expect(addressesOf(gate(), target)).rejects.toMatchObject({ status: 502 });
  });

  it("that is an address is not looked up", async () => {
    const resolve = () => Promise.reject(new Error("asked"));
    await expect(addressesOf({ resolve, reachable }, { host: "[::1]", port: 80 })).rejects.toMatchObject({
      status: 403,
    });
  });
});

describe("headers of one hop", () => {
  it("go no further, with those that Connection names, and the length stays", () => {
    const raw = [
      "A",
      "1",
      "Connection",
      "close, x-own, Content-Length",
      "X-Own",
      "2",
      "Content-Length",
      "3",
      "TE",
      "trailers",
    ];
    expect(endToEnd([...raw, "Proxy-Authorization", "Basic x"])).toEqual(["A", "1", "Content-Length", "3"]);
    expect(endToEnd(["Host", "a", "B", "2"], ["host"])).toEqual(["B", "2"]);
  });
});
