/** @module How an artifact's bytes are labelled: its name for any browser, and nothing that runs on our origin. */

const SCRIPTS = /^(text|application)\/(x-)?(javascript|ecmascript|jscript)$|^application\/wasm$/;

/** Scripts are the one kind that another page could run by reference, so they go out as text. */
export function servedType(mime: string): string {
  const type = mime.toLowerCase();
  if (SCRIPTS.test(type)) return "text/plain; charset=utf-8";
  if (!/^[a-z0-9.+-]+\/[a-z0-9.+-]+$/.test(type)) return "application/octet-stream";
  return /^text\/|[/+](json|xml)$/.test(type) ? `${type}; charset=utf-8` : type;
}

/** RFC 6266 with RFC 8187: the last part of the name, in ASCII for old clients and in UTF-8 for the others. */
export function contentDisposition(name: string): string {
  const file = name.slice(name.lastIndexOf("/") + 1) || "artifact";
  const ascii = file.replace(/[^\x20-\x7e]/g, "_").replace(/["\\%]/g, "_");
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encodeRfc8187(file)}`;
}

function encodeRfc8187(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

export const SAFE_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "sandbox; default-src 'none'",
  "Cache-Control": "private, max-age=0, must-revalidate",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Referrer-Policy": "no-referrer",
} as const;
