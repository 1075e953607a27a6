/** The page's nonce: libraries that make style elements must give it, or the browser ignores them. */
export function cspNonce(): string {
  return document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";
}
