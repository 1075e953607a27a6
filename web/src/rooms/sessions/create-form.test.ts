import { describe, expect, it } from "vitest";
import { EMPTY_FORM, packagesIn, pairsIn, requestOf, secondsIn, wrongFields } from "./create-form.ts";

describe("the form of a new session", () => {
  it("asks only for what was chosen", () => {
    expect(requestOf(EMPTY_FORM)).toEqual({
      request: { runtime: "python", storage: "TMPFS", datasets: { access: "NONE" }, network: "none" },
    });
  });

  it("shows what the server refuses where it was typed", () => {
    const refused = [
      "limits.memory_mb",
      "env.A B",
      "idle_ttl_s",
      "limits.memory_mb",
      "runtime_version",
      "network.allow.0",
    ];
    expect(wrongFields(refused.map((path, index) => ({ path, message: `${index}` })))).toEqual({
      memory_mb: "0",
      env: "1",
      idle: "2",
      allow: "5",
    });
  });

  it("names the hosts that may be reached", () => {
    const form = { ...EMPTY_FORM, network: "names" as const, allow: " a.example \n\n*.b.example:443" };
    expect(requestOf(form)).toMatchObject({
      request: { network: { allow: ["a.example", "*.b.example:443"] } },
    });
  });

  it("becomes the API's request", () => {
    const form = {
      ...EMPTY_FORM,
      key: " alice ",
      engine: "container" as const,
      memory_mb: "2048",
      cpus: "0.5",
      dependencies: "six",
      labels: "team=ml",
      volumes: [
        { name: "models", path: "/mnt/models" },
        { name: "", path: "" },
      ],
      idle: "1h 30m",
    };
    expect(requestOf(form)).toEqual({
      request: expect.objectContaining({
        key: "alice",
        engine: "container",
        limits: { memory_mb: 2048, cpus: 0.5 },
        dependencies: { six: "" },
        labels: { team: "ml" },
        volumes: [{ name: "models", path: "/mnt/models" }],
        idle_ttl_s: 5400,
      }),
    });
  });

  it("names every field that cannot be read", () => {
    const result = requestOf({
      ...EMPTY_FORM,
      cpus: "two",
      idle: "soon",
      labels: "x",
      volumes: [{ name: "a", path: "" }],
    });
    expect("wrong" in result && Object.keys(result.wrong).sort()).toEqual([
      "cpus",
      "idle",
      "labels",
      "volumes",
    ]);
  });
});

it.each([
  ["", undefined],
  ["90", 90],
  ["90s", 90],
  ["1h30m", 5400],
  ["2d", 172_800],
])("%j is %j seconds", (text, seconds) => expect(secondsIn(text)).toBe(seconds));

it("reads packages as pip and npm write them", () => {
  expect(
    packagesIn("pandas\nnumpy==1.26 # pinned\nflask>=2,<3\nlodash@4.17\n@types/node@^20\nsix 1.16\n\n"),
  ).toEqual({
    pandas: "",
    numpy: "1.26",
    flask: ">=2,<3",
    lodash: "4.17",
    "@types/node": "^20",
    six: "1.16",
  });
  expect(() => packagesIn("$(id)")).toThrow(/one a line/);
});

it("reads pairs, whose values may have = in them", () => {
  expect(pairsIn("A=1\nB=x=y\n")).toEqual({ A: "1", B: "x=y" });
});
