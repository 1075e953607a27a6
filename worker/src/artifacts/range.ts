/** @module One byte range of RFC 9110; what asks for several gets everything, as the RFC allows. */

export type ByteRange = { start: number; length: number } | "whole" | "unsatisfiable";

export function parseRange(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec((header ?? "").replace(/\s/g, ""));
  if (!match || (match[1] === "" && match[2] === "")) return "whole";
  if (match[1] === "") {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, length };
  }
  const start = Number(match[1]);
  const end = match[2] === "" ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[2] !== "" && Number(match[2]) < start) return "whole";
  return start >= size ? "unsatisfiable" : { start, length: end - start + 1 };
}
