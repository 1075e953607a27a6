import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { addressesIn, resolver } from "./resolve.ts";

const folder = mkdtempSync(path.join(tmpdir(), "sandbar-hosts-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TABLE = `
127.0.0.1\tlocalhost
::1 localhost ip6-localhost
10.1.2.3   Files.example.org files # 10.9.9.9 evil.example.org
nonsense files
#10.1.2.4 old.example.org
`;

it("finds names in the machine's own table", () => {
  expect(addressesIn(TABLE, "files.example.org")).toEqual([{ address: "10.1.2.3", family: 4 }]);
  expect(addressesIn(TABLE, "files")).toHaveLength(1);
  expect(addressesIn(TABLE, "localhost")).toEqual([
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ]);
  for (const name of ["evil.example.org", "old.example.org", "example.org", "#", ""])
    expect(addressesIn(TABLE, name), name).toEqual([]);
});

it("asks nobody for a name of the table, which may change", async () => {
  const file = path.join(folder, "hosts");
  const resolve = resolver([], file);
  writeFileSync(file, TABLE);
  expect(await resolve("files")).toEqual([{ address: "10.1.2.3", family: 4 }]);
  writeFileSync(file, "10.1.2.5 files");
  expect(await resolve("files")).toEqual([{ address: "10.1.2.5", family: 4 }]);
});
