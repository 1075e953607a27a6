import { expect, it } from "vitest";
import { parsePlace } from "./cp.ts";

it("tells a session's path from a local one", () => {
  expect(parsePlace("ses_1:/session/a b")).toEqual({ session: "ses_1", path: "/session/a b" });
  expect(parsePlace("key:")).toEqual({ session: "key", path: "/session" });
  expect(parsePlace("./a:b")).toEqual({ session: null, path: "./a:b" });
  expect(parsePlace("/tmp/a:b")).toEqual({ session: null, path: "/tmp/a:b" });
  expect(parsePlace("plain.csv")).toEqual({ session: null, path: "plain.csv" });
});
