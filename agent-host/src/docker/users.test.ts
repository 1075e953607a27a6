import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { boxesFolder } from "../box/box-folders.ts";
import { Users } from "./users.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "sandbar-users-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const open = (first = 1000, last = 1004) => new Users({ home, users: { first, last } });
const forget = (box: string) => rmSync(path.join(boxesFolder(home), box), { recursive: true });

describe("a user of the machine", () => {
  it("is one box's as long as the box is there, after a restart of the daemon too", () => {
    const users = open();
    const boxes = ["a", "b", "c", "d", "e"];
    const given = boxes.map((box) => users.ofBox(box));
    expect(new Set(given)).toEqual(new Set([1000, 1001, 1002, 1003, 1004]));
    expect(() => users.ofBox("f")).toThrow("SANDBAR_USERS (1000-1004)");
    const later = open();
    expect(boxes.map((box) => later.ofBox(box))).toEqual(given);
    expect(() => later.ofBox("f")).toThrow("SANDBAR_USERS");
    forget("b");
    expect(later.ofBox("f")).toBe(given[1]);
  });

  it("is a tenant's for good in all boxes that have its volumes, and no other's", () => {
    const users = open(1000, 1002);
    const acme = users.ofTenant("acme");
    expect(users.giveTenants("a", "acme")).toBe(acme);
    expect(users.giveTenants("b", "acme")).toBe(acme);
    const other = users.giveTenants("c", "other");
    expect(other).not.toBe(acme);
    for (const box of ["a", "b", "c"]) forget(box);
    const third = open(1000, 1002).ofBox("d");
    expect([acme, other]).not.toContain(third);
    expect(open(1000, 1002).ofTenant("acme")).toBe(acme);
  });

  it("is never root, whatever a file says", () => {
    const file = path.join(boxesFolder(home), "a", "user");
    for (const text of ["", "0", "-1", "1.5", " ", "root", "0x0"]) {
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, text);
      const user = open().ofBox("a");
      expect(user, text).toBeGreaterThanOrEqual(1000);
      expect(readFileSync(file, "utf8")).toBe(String(user));
    }
  });

  it("is written again for a box that was made again", () => {
    const users = open();
    const user = users.ofBox("a");
    forget("a");
    expect(users.ofBox("a")).toBe(user);
    expect(open().ofBox("a")).toBe(user);
  });

  it("can be borrowed, and is nobody else's meanwhile, whether it went well or not", async () => {
    const users = open(1000, 1001);
    await users.borrow(async (one) => {
      await expect(users.borrow(async (two) => Promise.reject(new Error(`${two - one}`)))).rejects.toThrow(
        /^-?1$/,
      );
      expect(users.ofBox("a")).not.toBe(one);
      expect(() => users.ofBox("b")).toThrow();
    });
    mkdirSync(path.join(boxesFolder(home), "b"));
    users.ofBox("b");
  });

  it("is the same for all where the operator names one", () => {
    const users = open(65532, 65532);
    expect([users.ofBox("a"), users.ofBox("b"), users.ofTenant("acme")]).toEqual([65532, 65532, 65532]);
  });
});
