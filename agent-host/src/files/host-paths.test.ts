import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { belowAllowed, narrowed } from "./host-paths.ts";

describe("host paths that may be imported", () => {
  it("lie below an allowed folder, whatever is asked for", () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "srv", "data", "data2", "a b", "\0", "…"),
      fc.string({ maxLength: 5 }),
    );
    const source = fc.array(part, { maxLength: 8 }).map((parts) => `/${parts.join("/")}`);
    fc.assert(
      fc.property(source, (given) => {
        const found = belowAllowed(["/srv/data", "/srv"], given);
        if (!found) return;
        expect(
          found.parts.every((name) => name !== "" && name !== "." && name !== ".." && !name.includes("/")),
        ).toBe(true);
        expect(path.join(found.root, ...found.parts)).toBe(path.resolve(given));
      }),
    );
  });

  it("are narrowed to a tenant's folders, and never widened by them", () => {
    expect(narrowed(["/srv/data"], ["/srv/data/acme"])).toEqual(["/srv/data/acme"]);
    expect(narrowed(["/srv/data", "/opt"], ["/srv"])).toEqual(["/srv/data"]);
    expect(narrowed(["/srv/data"], ["/srv/data"])).toEqual(["/srv/data"]);
    expect(narrowed(["/srv/data"], ["/srv/data2", "/etc"])).toEqual([]);
  });

  it("are judged by whole components", () => {
    expect(belowAllowed(["/srv/data"], "/srv/data2/x")).toBeNull();
    expect(belowAllowed(["/srv/data"], "/srv/data")).toBeNull();
    expect(belowAllowed(["/srv/data"], "srv/data/x")).toBeNull();
    expect(belowAllowed(["/srv/data"], "/srv/data/../data/x")).toBeNull();
    expect(belowAllowed(["/srv/data"], "/srv//data/./x")).toEqual({ root: "/srv/data", parts: ["x"] });
    expect(belowAllowed(["/"], "/etc/x")).toEqual({ root: "/", parts: ["etc", "x"] });
  });
});
