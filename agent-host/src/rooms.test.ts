import { expect, it } from "vitest";
import { importsBelow } from "../../shared/src/imports.test-support.ts";

/** Every folder from low to high, with the folders below that its files may import from. */
const ROOMS: Record<string, string[]> = {
  io: [],
  host: ["io"],
  journal: ["host"],
  "control-plane": ["io", "host"],
  guest: ["io", "host"],
  egress: ["io", "host"],
  box: ["host"],
  engine: ["host", "journal", "guest", "box"],
  docker: ["io", "host", "guest", "box", "engine"],
  wasm: ["io", "host", "guest", "box", "egress", "engine"],
  artifacts: ["io", "host", "control-plane", "guest"],
  files: ["io", "host", "control-plane", "guest"],
  datasets: ["io", "host", "journal", "control-plane", "guest"],
  processes: ["io", "host", "control-plane", "guest"],
  snapshots: ["io", "host", "journal", "control-plane", "guest"],
  metrics: ["host", "engine"],
  execution: ["io", "host", "journal", "artifacts"],
  pool: ["host", "journal", "guest", "engine"],
  session: [
    ...["io", "host", "journal", "control-plane", "guest", "box", "engine"],
    ...["artifacts", "files", "datasets", "processes", "snapshots", "metrics", "execution"],
    ...["pool", "egress"],
  ],
  install: ["host", "control-plane", "docker", "wasm"],
};

/** The only files on top that know which engine there is. */
const KNOW_THE_ENGINE = ["daemon.ts", "former-host.ts", "containers-left.ts"];

const imports = importsBelow(import.meta.dirname).filter(
  ({ file, target }) => !/\.test(-support)?\.ts$/.test(file) && target.endsWith(".ts"),
);
const inside = imports.filter(({ target }) => !target.startsWith(".."));
const roomOf = (file: string) => (file.includes("/") ? file.split("/")[0]! : null);

it("is a folder's own business, or one of the folders below it", () => {
  const names = Object.keys(ROOMS);
  for (const [room, below] of Object.entries(ROOMS))
    for (const name of below) expect(names.indexOf(name)).toBeLessThan(names.indexOf(room));
  const against = inside.filter(({ file, target }) => {
    const from = roomOf(file);
    const to = roomOf(target);
    if (from === to) return false;
    if (from === null) return (to === "docker" || to === "wasm") && !KNOW_THE_ENGINE.includes(file);
    return to === null || !ROOMS[from]?.includes(to);
  });
  expect(against.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

it("never comes back to where it began, types included", () => {
  const targets = Map.groupBy(inside, ({ file }) => file);
  const done = new Set<string>();
  const cycles: string[] = [];
  const follow = (file: string, path: readonly string[]) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(" imports "));
    if (path.includes(file) || done.has(file)) return;
    for (const { target } of targets.get(file) ?? []) follow(target, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) follow(file, []);
  expect(cycles).toEqual([]);
});
