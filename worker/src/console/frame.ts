/**
 * `/console/frame`: where the console shows HTML that code in a session has made. The header gives the page an origin of
 * its own that is nobody's, and no network: it reaches neither cookie nor API nor the console's page, whoever opens it.
 *
 * @module
 */
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";

const POLICY = [
  "sandbox allow-scripts allow-popups",
  "default-src 'none'",
  // Of what is shown. Nothing here is worth stealing, and without a network nothing can be sent.
  "script-src 'unsafe-inline' 'unsafe-eval' blob: data:",
  "style-src 'unsafe-inline'",
  "img-src data: blob:",
  "font-src data:",
  "media-src data: blob:",
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'self'",
].join("; ");

/** `location.origin` is that of the URL: the console's, although this page's own origin is opaque. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Output</title>
<style>
:root { color-scheme: light; font: 14px/1.5 system-ui, sans-serif; }
:root[data-theme="dark"] { color-scheme: dark; }
html { background: transparent; }
body { margin: 0; overflow-wrap: break-word; }
img, svg, video { max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; }
th, td { padding: 2px 8px; text-align: right; border-bottom: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
</style>
</head>
<body>
<script>
(() => {
  const { parent, location: { origin } } = window;
  const root = document.documentElement;
  let told = -1;
  const tell = () => {
    const height = Math.ceil(root.getBoundingClientRect().height);
    if (height !== told) parent.postMessage({ height: told = height }, origin);
  };
  const show = (event) => {
    const { html, theme } = event.data ?? {};
    if (event.source !== parent || event.origin !== origin || typeof html !== "string") return;
    removeEventListener("message", show);
    if (theme === "dark") root.dataset.theme = "dark";
    document.body.append(document.createRange().createContextualFragment(html));
    tell();
  };
  addEventListener("message", show);
  // Browsers do not draw frames that are out of sight, and without drawing nothing resizes.
  new MutationObserver(tell).observe(root, { attributes: true, childList: true, subtree: true });
  addEventListener("load", tell, true);
  new ResizeObserver(tell).observe(root);
  document.currentScript.remove();
})();
</script>
</body>
</html>
`;

export function framePage(c: Context<AppEnv>): Response {
  return c.html(PAGE, 200, {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-DNS-Prefetch-Control": "off",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
  });
}
