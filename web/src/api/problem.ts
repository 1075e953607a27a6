/** @module A failure as the console shows it. */
import { SandbarError } from "@sandbar/sdk";

export interface ShownProblem {
  code: string;
  detail: string;
  hint?: string;
  requestId?: string;
  fields: { path: string; message: string }[];
}

export function problemOf(error: unknown): ShownProblem {
  if (error instanceof SandbarError) {
    const prefix = `${error.code}: `;
    const detail = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
    return {
      code: String(error.code),
      detail,
      hint: error.hint,
      requestId: error.requestId,
      fields: error.errors,
    };
  }
  // What a resource itself carries: {code, detail, hint}, as in a failed session.
  if (typeof error === "object" && error !== null && "code" in error && typeof error.code === "string") {
    const { code, detail, hint } = error as { code: string; detail?: string; hint?: string };
    return { code, detail: detail ?? "", hint, fields: [] };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "CONSOLE_ERROR", detail: message, hint: "Reload the page.", fields: [] };
}
