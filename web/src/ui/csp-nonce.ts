/** The page's nonce, by which its policy knows style elements that libraries make; "" where there is no policy. */
export function cspNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
}
