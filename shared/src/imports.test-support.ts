/** @module Reads who imports whom from source files, for tests that hold dependencies to a direction. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export interface Import {
  /** The importing file, from the root that was read. */
  file: string;
  /** As it is written. */
  specifier: string;
  /** A relative import's file, from the same root; any other import as it is written. */
  target: string;
}

const IMPORT = /(?:^(?:import|export|\})[^"'\n]* from |^import |\bimport\()["']([^"'\n]+)["']/gm;

export function importsBelow(root: string, folder = "."): Import[] {
  const files = globSync(`${folder}/**/*.{ts,tsx,mjs}`, {
    cwd: root,
    exclude: (name) => name === "node_modules" || name === "dist",
  });
  return files.flatMap((file) =>
    [...readFileSync(join(root, file), "utf8").matchAll(IMPORT)].map(([, found]) => {
      const specifier = found!;
      const target = specifier.startsWith(".")
        ? relative(root, join(root, dirname(file), specifier))
        : specifier;
      return { file, specifier, target };
    }),
  );
}
