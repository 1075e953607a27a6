import { describe, expect, it } from "vitest";
import { changed } from "./policy.ts";

describe("changes of a policy", () => {
  it("go to the API as what they are, and leave the rest", () => {
    expect(
      changed({ allow: { bind: false } }, [
        "allow.egress=no",
        "allow.imports=/srv/a,/srv/b",
        "engines=container",
        "max.memory_mb=2048",
        "shares.sessions=unlimited",
      ]),
    ).toEqual({
      allow: { bind: false, egress: false, imports: ["/srv/a", "/srv/b"] },
      engines: ["container"],
      max: { memory_mb: 2048 },
      shares: { sessions: null },
    });
  });

  it("without a value take one back", () => {
    expect(
      changed({ allow: { bind: false, egress: false }, engines: ["wasm"] }, ["allow.bind=", "engines="]),
    ).toEqual({
      allow: { egress: false },
    });
  });

  it("that make no sense are refused before anything is asked", () => {
    expect(() => changed({}, ["egress"])).toThrow("is not name=value");
    expect(() => changed({}, ["allow.egres=no"])).toThrow("egres");
    expect(() => changed({}, ["allow.egress=maybe"])).toThrow("allow.egress");
    expect(() => changed({}, ["engines=vm"])).toThrow("engines");
  });
});
