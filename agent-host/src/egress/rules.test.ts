import { NetworkRuleSchema } from "@sandbar/shared";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allows } from "./rules.ts";
import { readAbsolute, readAuthority } from "./target.ts";

const named = (rules: string[], authority: string) => allows(rules, readAuthority(authority)!);

describe("a rule", () => {
  it("names a host on the usual ports, in any spelling", () => {
    const rules = ["Files.Example.org"];
    for (const ok of ["files.example.org:443", "files.example.org:80", "FILES.example.org.:443"])
      expect(named(rules, ok), ok).toBe(true);
    for (const no of [
      "files.example.org:22",
      "example.org:443",
      "a.files.example.org:443",
      "xfiles.example.org:443",
    ])
      expect(named(rules, no), no).toBe(false);
  });

  it("with a star names everything below, and not the name itself", () => {
    const rules = ["*.example.com:443"];
    for (const ok of ["a.example.com:443", "a.b.example.com:443"]) expect(named(rules, ok), ok).toBe(true);
    for (const no of [
      "example.com:443",
      "a.example.com:80",
      "badexample.com:443",
      "a.example.com.evil.net:443",
    ])
      expect(named(rules, no), no).toBe(false);
  });

  it("with a port names that port alone", () => {
    expect(named(["a.test:8443"], "a.test:8443")).toBe(true);
    expect(named(["a.test:8443"], "a.test:443")).toBe(false);
  });

  it("names an address only as an address", () => {
    expect(named(["*.com", "example.org"], "93.184.216.34:443")).toBe(false);
    expect(named(["93.184.216.34"], "0x5db8d822:443")).toBe(true);
    expect(named(["[2606:4700::1]:8443"], "[2606:4700:0:0:0:0:0:1]:8443")).toBe(true);
  });

  it("is nothing that could be misread", () => {
    for (const bad of [
      "*",
      "*.",
      "a..b",
      "http://a.b",
      "a.b/c",
      "a.b:0",
      "a.b:65536",
      "a b",
      "a*.b",
      "",
      "a@b",
      "-a.b",
    ])
      expect(NetworkRuleSchema.safeParse(bad).success, bad).toBe(false);
  });

  it("allows nothing where there is none", () => {
    fc.assert(
      fc.property(fc.domain(), fc.integer({ min: 1, max: 65_535 }), (host, port) => {
        expect(allows([], { host, port })).toBe(false);
      }),
    );
  });

  it("with a star allows exactly the names that end in its own after a dot", () => {
    fc.assert(
      fc.property(fc.domain(), fc.domain(), fc.boolean(), (base, other, below) => {
        const host = (below ? `${other}.${base}` : other).toLowerCase();
        const expected = host.endsWith(`.${base.toLowerCase()}`);
        expect(allows([`*.${base}`], { host, port: 443 })).toBe(expected);
      }),
    );
  });
});

describe("a request's target", () => {
  it("is read as a URL would be, or not at all", () => {
    expect(readAuthority("EXAMPLE.org.:443")).toEqual({ host: "example.org", port: 443 });
    expect(readAuthority("2130706433:80")).toEqual({ host: "127.0.0.1", port: 80 });
    expect(readAuthority("0x7f.1:80")).toEqual({ host: "127.0.0.1", port: 80 });
    expect(readAuthority("[::ffff:10.0.0.1]:80")).toEqual({ host: "[::ffff:a00:1]", port: 80 });
    expect(readAbsolute("http://A.test:8080/x?y#z")).toEqual({ host: "a.test", port: 8080, path: "/x?y" });
    for (const bad of [
      undefined,
      "",
      "a.test",
      "a.test:",
      "a.test:0",
      "a.test:65536",
      "a@b:80",
      "a/b:80",
      "a.test:80:80",
    ])
      expect(readAuthority(bad), bad).toBeNull();
    for (const bad of [undefined, "/x", "https://a.test/", "ftp://a.test/", "http://u:p@a.test/", "http://"])
      expect(readAbsolute(bad), bad).toBeNull();
  });

  it("is no name when it is longer than names are", () => {
    expect(readAuthority(`${"a.".repeat(126)}a:80`)?.host).toHaveLength(253);
    expect(readAuthority(`${"a.".repeat(127)}a:80`)).toBeNull();
    expect(readAbsolute(`http://${"a".repeat(4_000)}/`)).toBeNull();
  });

  it("never comes out as something that is not one host and one port", () => {
    const hostile = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.tuple(fc.string({ maxLength: 30 }), fc.integer()).map(([host, port]) => `${host}:${port}`),
      fc
        .tuple(fc.constantFrom("http://", "HTTP://", "http:/"), fc.string({ maxLength: 40 }))
        .map((all) => all.join("")),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        for (const target of [readAuthority(text), readAbsolute(text)]) {
          if (!target) continue;
          expect(target.host).toMatch(/^[^\s/@?#:]+$|^\[[0-9a-f:.]+\]$/);
          expect(target.host).toBe(target.host.toLowerCase());
          expect(target.host.length).toBeLessThanOrEqual(253);
          expect(Number.isInteger(target.port) && target.port >= 1 && target.port <= 65_535).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
