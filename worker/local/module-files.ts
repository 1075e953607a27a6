/** @module A bundle's files as Miniflare takes them. */
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** The entry comes first. */
export function moduleFiles(bundle: string): { type: "ESModule" | "CompiledWasm"; path: string }[] {
  return readdirSync(bundle)
    .filter((name) => name.endsWith(".js") || name.endsWith(".wasm"))
    .sort((a, b) => Number(b === "index.js") - Number(a === "index.js"))
    .map((name) => ({
      type: name.endsWith(".wasm") ? "CompiledWasm" : "ESModule",
      path: join(bundle, name),
    }));
}
