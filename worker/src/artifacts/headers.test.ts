import { expect, it } from "vitest";
import { contentDisposition, servedType } from "./headers.ts";
import { parseRange } from "./range.ts";

it.each([
  ["a.txt", `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
  ["in/a/folder.csv", `attachment; filename="folder.csv"; filename*=UTF-8''folder.csv`],
  ['q"uote\\.txt', `attachment; filename="q_uote_.txt"; filename*=UTF-8''q%22uote%5C.txt`],
  ["ünï (1).txt", `attachment; filename="_n_ (1).txt"; filename*=UTF-8''%C3%BCn%C3%AF%20%281%29.txt`],
  ["a\r\nX: 1", `attachment; filename="a__X: 1"; filename*=UTF-8''a%0D%0AX%3A%201`],
  ["\ud800", `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
])("%j is named so that any client reads it and no header breaks", (name, header) => {
  expect(contentDisposition(name)).toBe(header);
});

it.each([
  ["text/html", "text/html; charset=utf-8"],
  ["image/png", "image/png"],
  ["image/svg+xml", "image/svg+xml; charset=utf-8"],
  ["text/javascript", "text/plain; charset=utf-8"],
  ["application/x-javascript", "text/plain; charset=utf-8"],
  ["nonsense", "application/octet-stream"],
  ["text/html\r\nX: 1", "application/octet-stream"],
])("%j is served as %s", (mime, served) => {
  expect(servedType(mime)).toBe(served);
});

it.each([
  [undefined, "whole"],
  ["bytes=0-0", { start: 0, length: 1 }],
  ["bytes= 2 - 4", { start: 2, length: 3 }],
  ["bytes=9-", { start: 9, length: 1 }],
  ["bytes=-100", { start: 0, length: 10 }],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=10-", "unsatisfiable"],
  ["bytes=4-2", "whole"],
  ["bytes=-", "whole"],
  ["bytes=1-2,4-5", "whole"],
] as const)("the range %s of ten bytes", (header, range) => {
  expect(parseRange(header, 10)).toEqual(range);
});

it("nothing of an empty file can be a range", () => {
  expect(parseRange("bytes=0-", 0)).toBe("unsatisfiable");
});
