import type { Problem } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { createApp } from "../../worker/src/app.ts";
import { bindings } from "./client.ts";
import { ORIGIN } from "./fake-daemon.ts";

const INDEX = `<!doctype html><html lang="en"><head><meta charset="utf-8"><link rel="stylesheet" href="/assets/a-1.css">
<script src="/theme.js"></script><script type="module" src="/assets/a-1.js"></script></head><body></body></html>`;
const FILES: Record<string, [type: string, text: string]> = {
  "/": ["text/html; charset=utf-8", INDEX],
  "/assets/a-1.js": ["text/javascript; charset=utf-8", "1"],
  "/theme.js": ["text/javascript; charset=utf-8", "2"],
};

/** A fake of Cloudflare's assets with a console in it. */
function assets(files = FILES) {
  const asked: string[] = [];
  const fetch = async (url: URL, init?: RequestInit) => {
    asked.push(url.pathname);
    const found = files[url.pathname];
    if (url.pathname === "/index.html") return Response.redirect(`${url.origin}/`, 307);
    if (!found) return new Response("Not found", { status: 404 });
    const headers = { "Content-Type": found[0], ETag: '"1"' };
    const same = new Headers(init?.headers).get("If-None-Match") === '"1"';
    return same ? new Response(null, { status: 304, headers }) : new Response(found[1], { headers });
  };
  return { asked, binding: { fetch } as unknown as Fetcher };
}

const app = createApp();
const HTML = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

function get(path: string, headers: Record<string, string> = HTML, files = FILES, vars = {}, method = "GET") {
  const { binding, asked } = assets(files);
  const env = { ...bindings, ASSETS: binding, ...vars };
  return Promise.resolve(app.fetch(new Request(`${ORIGIN}${path}`, { method, headers }), env)).then(
    (answer) => ({
      answer,
      asked,
    }),
  );
}

describe("the console's page", () => {
  it("is every path that is nothing else, for whoever takes HTML", async () => {
    for (const path of [
      "/",
      "/sign-in",
      "/sessions",
      "/sessions/ses_1/files/a.b.csv",
      "/index.html",
      "/v2",
    ]) {
      const { answer } = await get(path);
      expect(answer.status, path).toBe(200);
      expect(answer.headers.get("Content-Type")).toContain("text/html");
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.headers.get("X-Request-Id")).toMatch(/^req_/);
      expect(await answer.text()).toContain("/assets/a-1.js");
    }
    expect((await get("/", { Accept: "*/*" })).answer.status).toBe(200);
    expect((await get("/", HTML, FILES, {}, "HEAD")).answer.status).toBe(200);
  });

  it("is no path of the API, and nothing for programs", async () => {
    const paths = [
      "/v1",
      "/v1/nothing",
      "/agent/x",
      "/mcp/x",
      "/docs/x",
      "/artifacts/x",
      "/console/x",
      "/preview/x/",
    ];
    for (const path of [...paths, "/.well-known/x", "/metrics/x", "/healthz/x"]) {
      const { answer, asked } = await get(path);
      expect(answer.status, path).toBeGreaterThanOrEqual(401);
      expect(answer.headers.get("Content-Type"), path).toContain("application/problem+json");
      expect(asked, path).toEqual([]);
    }
    expect((await get("/sessions", { Accept: "application/json" })).answer.status).toBe(404);
    expect((await get("/sessions", HTML, FILES, {}, "POST")).answer.status).toBe(404);
  });

  it("has its hashed files for ever, and a missing one is an error and not the page", async () => {
    const { answer } = await get("/assets/a-1.js", { Accept: "*/*" });
    expect(answer.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
    expect(answer.headers.get("Content-Type")).toContain("text/javascript");
    expect(answer.headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect((await get("/assets/a-1.js", { "If-None-Match": '"1"' })).answer.status).toBe(304);
    expect((await get("/assets/gone.js")).answer.status).toBe(404);
    expect((await get("/theme.js")).answer.headers.get("Cache-Control")).toBe("public, max-age=3600");
  });

  it("is a plain 404 where no console was built", async () => {
    const { answer } = await get("/", HTML, {});
    expect(answer.status).toBe(404);
    expect((await answer.json<Problem>()).code).toBe("NOT_FOUND");
  });

  it("runs scripts of its build alone: no inline ones, and none that a session has on this origin", async () => {
    const [first, second] = [await get("/"), await get("/")];
    const policy = directives(first.answer);
    const nonce = /'nonce-([\w-]{43})'/.exec(policy["script-src"]!)![1]!;
    expect(policy).toEqual({
      "default-src": "'self'",
      "script-src": `'nonce-${nonce}' ${ORIGIN}/assets/`,
      "style-src": `'nonce-${nonce}' ${ORIGIN}/assets/`,
      "style-src-attr": "'unsafe-inline'",
      "connect-src": "'self' wss://sandbar.test",
      "img-src": "'self' data: blob:",
      "media-src": "'self' data: blob:",
      "font-src": "'self' data:",
      "frame-src": "'self' blob:",
      "worker-src": `${ORIGIN}/assets/`,
      "object-src": "'none'",
      "base-uri": "'none'",
      "form-action": "'self'",
      "frame-ancestors": "'none'",
    });
    expect(first.answer.headers.get("Cross-Origin-Opener-Policy")).toBe("same-origin");
    expect(first.answer.headers.get("Referrer-Policy")).toBe("same-origin");
    expect(first.answer.headers.get("Permissions-Policy")).toContain("camera=()");
    const html = await first.answer.text();
    expect(html).toContain(`<head><meta property="csp-nonce" nonce="${nonce}">`);
    expect(html.match(/<script nonce=/g)).toHaveLength(2);
    expect(directives(second.answer)["script-src"]).not.toContain(nonce);
  });

  it("names the origin that a proxy serves, when that is set", async () => {
    const { answer } = await get("/", HTML, FILES, { CONSOLE_ORIGIN: "http://sandbar.test" });
    expect(directives(answer)["script-src"]).toContain("http://sandbar.test/assets/");
    const other = await get("/", HTML, FILES, { CONSOLE_ORIGIN: "https://elsewhere.test" });
    expect(directives(other.answer)["script-src"]).toContain(`${ORIGIN}/assets/`);
  });
});

describe("other pages of this origin", () => {
  it("are not framed either", async () => {
    for (const path of ["/docs", "/docs/errors"])
      expect(directives((await get(path)).answer)["frame-ancestors"], path).toBe("'none'");
  });

  it("show untrusted HTML in an origin of its own, without a network", async () => {
    const { answer } = await get("/console/frame");
    expect(answer.status).toBe(200);
    const policy = directives(answer);
    expect(policy.sandbox).toBe("allow-scripts allow-popups");
    expect(policy["default-src"]).toBe("'none'");
    expect(policy["connect-src"]).toBe("'none'");
    expect(policy["frame-ancestors"]).toBe("'self'");
  });
});

function directives(answer: Response): Record<string, string> {
  const policy = answer.headers.get("Content-Security-Policy")!;
  return Object.fromEntries(
    policy.split(";").map((directive) => {
      const [name = "", ...values] = directive.trim().split(" ");
      return [name, values.join(" ")];
    }),
  );
}
