/**
 * The program of an installed host: npm puts this package, what it imports and a Node of its own into a folder that
 * nothing changes any more. An upgrade makes another one; whatever Node or package the machine has does not matter.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "@sandbar/shared";
import type { Places } from "./places.ts";
import { does, linkTarget, makesFolder, runs, type Step } from "./steps.ts";

/** What the daemon is tested with; the same as in a clone. */
export const OWN_NODE = "24.21.0";

const PACKAGE = "node_modules/@sandbar/agent-host";
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;
export const MAIN_OF_RELEASE = `${PACKAGE}/agent-host/src/main.js`;
export const IMAGES_OF_RELEASE = `${PACKAGE}/agent-host/setup/images.js`;
export const NODE_OF_RELEASE = `node_modules/${NODE_PACKAGE}/bin/node`;

/** This package: below `agent-host/src/install/` of it is this file. */
const SOURCE = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

export interface Release {
  readonly name: string;
  readonly folder: string;
  /** Those that make it; none where it is there. */
  readonly steps: readonly Step[];
}

/** Null in a clone: only a package can be installed. */
export function ownRelease({ releases }: Places): Release | null {
  if (!import.meta.filename.endsWith(".js")) return null;
  const name = `${VERSION}-${digestOf(SOURCE)}`;
  const folder = path.join(releases, name);
  return { name, folder, steps: existsSync(folder) ? [] : stepsFor(folder) };
}

function stepsFor(folder: string): Step[] {
  const part = `${folder}.part`;
  const npm = ["npm", "install", "--prefix", part, "--install-links", "--ignore-scripts", "--omit=dev"];
  const quietly = ["--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--loglevel=error"];
  return [
    does(`make the folder ${part}, empty`, () => {
      rmSync(part, { recursive: true, force: true });
    }),
    makesFolder(part, 0o755),
    runs([...npm, ...quietly, SOURCE, `${NODE_PACKAGE}@${OWN_NODE}`]),
    does(`rename ${part} to ${folder}`, () => renameSync(part, folder)),
  ];
}

/** Releases other than these, which nothing runs any more. */
export function oldReleases({ releases }: Places, kept: readonly string[]): string[] {
  if (!existsSync(releases)) return [];
  return readdirSync(releases)
    .map((name) => path.join(releases, name))
    .filter((folder) => !kept.includes(folder));
}

export const currentRelease = ({ current }: Places): string | null => linkTarget(current);

/** Two packages may have the same version while it is not published. */
function digestOf(folder: string): string {
  const hash = createHash("sha256");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)))
    .filter(
      (file) => !file.split(path.sep).some((part) => part === "node_modules" || part === "__pycache__"),
    );
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(path.join(folder, file)));
  return hash.digest("hex").slice(0, 8);
}
