/** @module The notebook's cells as a file's, and the file into the browser's downloads. */
import type { Language } from "@sandbar/sdk";
import type { NotebookCell } from "./ipynb.ts";
import type { Cell } from "./layout.ts";

export function notebookCells(
  cells: readonly Cell[],
  languageOf: (context: string) => Language,
): NotebookCell[] {
  return cells
    .map(({ draft, ...cell }): NotebookCell => {
      if (draft)
        return {
          kind: draft.kind,
          code: draft.code,
          language: draft.kind === "markdown" ? null : languageOf(draft.context),
          outputs: [],
        };
      const { entry, edited } = cell as Extract<Cell, { draft: null }>;
      // The outputs are those of what ran, not of what was typed since.
      return {
        kind: "code",
        code: edited ?? entry.code ?? "",
        language: entry.language,
        outputs: edited === null ? entry.outputs : [],
      };
    })
    .filter(({ code }) => code.trim() !== "");
}

export function downloadNotebook(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/x-ipynb+json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${name.replace(/[^\w.-]+/g, "_")}.ipynb`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
