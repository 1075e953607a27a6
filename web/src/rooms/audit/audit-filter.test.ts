import { expect, it } from "vitest";
import { filterOf } from "./audit-filter.ts";

const NOW = Date.UTC(2026, 0, 8);

it.each([
  ["key_01abc", { by: "key_01abc" }],
  ["tok_01abc", { by: "tok_01abc" }],
  ["to:key_01abc", { target: "key_01abc" }],
  ["ses_01abc", { target: "ses_01abc" }],
  ["10.1.2.3", { address: "10.1.2.3" }],
  ["2001:db8::1", { address: "2001:db8::1" }],
  ["host.drain", { action: "host.drain" }],
  ["host.", { action: "host." }],
  ["FORBIDDEN", { result: "FORBIDDEN" }],
  [" my-volume ", { target: "my-volume" }],
])("%j asks for %j", (q, filter) => expect(filterOf({ q, range: "all" }, NOW)).toEqual(filter));

it("asks for the last week unless told otherwise, and for what is chosen", () => {
  expect(filterOf({}, NOW)).toEqual({ since: new Date(Date.UTC(2026, 0, 1)) });
  expect(filterOf({ kind: "key.", result: "refused", tenant: "acme", range: "all" }, NOW)).toEqual({
    action: "key.",
    result: "refused",
    tenant: "acme",
  });
});
