import { existsSync, globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const GUEST = resolve(import.meta.dirname, "../../images/guest");

/** The guest's rooms, and whose files each may import; `.` are the files beside the rooms, which put everything together. */
const MAY_IMPORT: Record<string, string[]> = {
  limits: [],
  io: ["limits"],
  system: ["limits"],
  executions: ["limits", "io"],
  files: ["io", "system"],
  artifacts: ["files"],
  wires: ["io"],
  kernels: ["limits", "io", "system", "executions", "artifacts", "wires"],
  processes: ["limits", "io", "system"],
  tunnels: ["limits", "io"],
  calls: ["limits", "io", "system", "files", "artifacts", "wires", "kernels", "tunnels"],
  ".": ["limits", "io", "system", "executions", "kernels", "processes", "tunnels", "calls"],
};

const IMPORT = /^\s*from guest(?:\.([\w.]+))? import ([\w, ]+)/gm;

/** Each file with those of the guest that it imports. */
const imports = new Map(
  globSync("**/*.py", { cwd: GUEST }).map((file) => [
    file,
    [...readFileSync(join(GUEST, file), "utf8").matchAll(IMPORT)].flatMap(([, from = "", names]) => {
      const target = from.replaceAll(".", "/");
      if (existsSync(join(GUEST, `${target}.py`))) return [`${target}.py`];
      return names!.split(",").map((name) => join(target, `${name.trim()}.py`));
    }),
  ]),
);

const roomOf = (file: string) =>
  file === "limits.py" ? "limits" : file.includes("/") ? file.split("/")[0]! : ".";

it("has no rooms but these, and imports only files that are there", () => {
  expect(new Set([...imports.keys()].map(roomOf))).toEqual(new Set(Object.keys(MAY_IMPORT)));
  expect([...imports.values()].flat().filter((file) => !imports.has(file))).toEqual([]);
});

it.each(Object.entries(MAY_IMPORT))("%s imports no room but %j", (room, allowed) => {
  const files = [...imports].filter(([file]) => roomOf(file) === room);
  const reached = new Set(files.flatMap(([, targets]) => targets.map(roomOf)).filter((of) => of !== room));
  expect([...reached].sort()).toEqual([...allowed].sort());
});

it("has no cycle of imports", () => {
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) throw new Error([...path, file].join(" → "));
    if (done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
});
