/** @module A Vite plugin: fails the build when the first page needs more compressed JavaScript than it may. */
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

export function firstLoadBudget(limitBytes: number): Plugin {
  return {
    name: "sandbar:first-load-budget",
    apply: "build",
    generateBundle(_options, bundle) {
      const wanted = new Set<string>();
      const want = (file: string) => {
        const chunk = bundle[file];
        if (wanted.has(file) || chunk?.type !== "chunk") return;
        wanted.add(file);
        for (const imported of chunk.imports) want(imported);
      };
      for (const chunk of Object.values(bundle))
        if (chunk.type === "chunk" && chunk.isEntry) want(chunk.fileName);
      const bytes = [...wanted].reduce((sum, file) => {
        const chunk = bundle[file];
        return sum + (chunk?.type === "chunk" ? gzipSync(chunk.code).length : 0);
      }, 0);
      const kb = (n: number) => `${(n / 1024).toFixed(1)} KB`;
      const line = `First load: ${kb(bytes)} of compressed JavaScript in ${wanted.size} files, of ${kb(limitBytes)} allowed.`;
      if (bytes > limitBytes) this.error(line);
      this.info(line);
    },
  };
}
