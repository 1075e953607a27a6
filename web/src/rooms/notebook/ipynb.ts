/** @module Jupyter's notebook files, in both directions. */
import type { Language } from "@sandbar/sdk";
import type { Output } from "./entry.ts";

export interface NotebookCell {
  kind: "code" | "markdown";
  code: string;
  /** Null in words, and when the file does not say. */
  language: Language | null;
  outputs: readonly Output[];
}

const KERNELS: Record<Language, { name: string; display_name: string; language: string }> = {
  python: { name: "python3", display_name: "Python 3", language: "python" },
  node: { name: "javascript", display_name: "Node", language: "javascript" },
  r: { name: "ir", display_name: "R", language: "R" },
  bash: { name: "bash", display_name: "Bash", language: "bash" },
};

const lines = (text: string) => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

export function toIpynb(cells: readonly NotebookCell[], language: Language): string {
  const notebook = {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {
      kernelspec: KERNELS[language],
      language_info: { name: KERNELS[language].language },
    },
    cells: cells.map((cell, index) => ({
      id: `cell-${index + 1}`,
      cell_type: cell.kind,
      metadata: cell.language && cell.language !== language ? { language: cell.language } : {},
      // Of another language: as IPython's magic, so that Jupyter does not take it for the kernel's.
      source: lines(cell.language === "bash" && language === "python" ? `%%bash\n${cell.code}` : cell.code),
      ...(cell.kind === "code" ? { execution_count: null, outputs: cell.outputs.map(toJupyter) } : {}),
    })),
  };
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

function toJupyter(output: Output): Record<string, unknown> {
  switch (output.kind) {
    case "stdout":
    case "stderr":
      return { output_type: "stream", name: output.kind, text: lines(output.text) };
    case "error":
      return {
        output_type: "error",
        ename: output.name,
        evalue: output.value,
        traceback: output.traceback ? output.traceback.split("\n") : [],
      };
    case "result":
      return {
        output_type: "display_data",
        metadata: {},
        data: Object.fromEntries(
          Object.entries(output.data).map(([mime, value]) => [
            mime,
            typeof value === "string" && mime.startsWith("text/") ? lines(value) : value,
          ]),
        ),
      };
  }
}

export class NotAnIpynb extends Error {}

/** The cells of a file, with what stands in them; outputs are read by nobody here and left out. */
export function fromIpynb(text: string): NotebookCell[] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new NotAnIpynb("The file is not JSON.");
  }
  const { cells, metadata, nbformat } = (file ?? {}) as Record<string, unknown>;
  if (!Array.isArray(cells)) throw new NotAnIpynb("The file has no cells: it is no notebook of format 4.");
  if (typeof nbformat === "number" && nbformat < 4)
    throw new NotAnIpynb("The notebook's format is older than 4.");
  const kernel = languageOf(metadata);
  return cells.flatMap((cell: unknown): NotebookCell[] => {
    const { cell_type, source, metadata: own } = (cell ?? {}) as Record<string, unknown>;
    const code = Array.isArray(source) ? source.join("") : typeof source === "string" ? source : "";
    if (code.trim() === "") return [];
    if (cell_type !== "code") return [{ kind: "markdown", code, language: null, outputs: [] }];
    const magic = /^%%(bash|sh)\s*\n/.exec(code);
    if (magic) return [{ kind: "code", code: code.slice(magic[0].length), language: "bash", outputs: [] }];
    const said = (own as { language?: unknown } | undefined)?.language;
    const language = named(said) ?? kernel;
    return [{ kind: "code", code, language, outputs: [] }];
  });
}

function languageOf(metadata: unknown): Language | null {
  const { kernelspec, language_info } = (metadata ?? {}) as Record<
    string,
    Record<string, unknown> | undefined
  >;
  return named(language_info?.name) ?? named(kernelspec?.language) ?? named(kernelspec?.name);
}

function named(name: unknown): Language | null {
  if (typeof name !== "string") return null;
  const lower = name.toLowerCase();
  if (/python/.test(lower)) return "python";
  if (/javascript|typescript|node/.test(lower)) return "node";
  if (lower === "r" || lower === "ir") return "r";
  return /bash|shell|^sh$/.test(lower) ? "bash" : null;
}
