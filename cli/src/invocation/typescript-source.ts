/** @module TypeScript as JavaScript, for a session's Node. Node itself can do it only since version 22. */
import { UsageError } from "./explain.ts";

interface SyntaxFault {
  code: string;
  message: string;
  startLine: number;
  startColumn: number;
}

export async function withoutTypes(file: string, code: string): Promise<string> {
  const { transformSync } = await import("@swc/wasm-typescript");
  try {
    // Lines and columns stay where they are, so errors name the right ones.
    return transformSync(code, { mode: "strip-only" }).code;
  } catch (error) {
    const { code: kind, message, startLine, startColumn } = error as SyntaxFault;
    // Enums and the like are more than types: they become code, and what follows them moves.
    if (kind === "UnsupportedSyntax") return transformSync(code, { mode: "transform" }).code;
    throw new UsageError(`${file}:${startLine}:${startColumn + 1}: ${message}`);
  }
}
