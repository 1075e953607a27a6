import type { ApiKey } from "@sandbar/shared";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** What the browser says of an answer that the test wants. */
const REFUSED = /status of 40[134]|INCOMPLETE_CHUNKED/;

/** Time enough to sign in and see something, on a busy machine too. */
const COOKIE_LIFE_MS = 10_000;

describe("who may see the console", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);
  let session: string;
  beforeAll(async () => {
    session = (await client.create({ key: "quarterly report" })).id;
    await client.run(session, "open('/session/notes.txt', 'w').write('for me alone'); print('ran before')");
  });

  const newKey = (tenant: string, more: Record<string, unknown> = {}) =>
    client.ok<ApiKey & { secret: string }>("POST", "/v1/keys", {
      name: "a browser",
      tenant,
      scopes: ["agent"],
      ...more,
    });
  const soon = () => new Date(Date.now() + COOKIE_LIFE_MS).toISOString();
  const signInWith = async (page: Page, key: string) => {
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
  };

  it("is whoever has the link, once, or a key; and both arrive where they wanted to go", async () => {
    const { url } = await client.ok<{ url: string }>("POST", "/v1/console/codes");
    const page = await browser.open(url.slice(stack.url.length), { key: null, expected: REFUSED });
    await page.getByRole("row", { name: /quarterly report/ }).waitFor();
    expect(page.url()).toBe(`${stack.url}/sessions`);
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    expect(cookie!.value).not.toContain("sbk_");
    expect(
      await page.evaluate<string>("document.cookie + JSON.stringify({ ...localStorage })"),
    ).not.toContain("sbk_");

    const wanted = `/sessions/${session}/files?path=%2Fsession%2Fnotes.txt`;
    const second = await browser.open(url.slice(stack.url.length), { key: null, expected: REFUSED });
    await second.getByText("The link was used already, or has expired").waitFor();
    await second.goto(stack.url + wanted);
    await signInWith(second, "sbk_wrong");
    await second.getByText("The API key is not known").waitFor();
    await signInWith(second, stack.key);
    await second.getByRole("textbox", { name: "File content" }).getByText("for me alone").waitFor();

    // Whoever signs out is out in every tab, and reading goes on nowhere.
    const tab = await second.context().newPage();
    await tab.goto(`${stack.url}/sessions/${session}`);
    await tab.getByText("ran before").first().waitFor();
    await tab.getByRole("button", { name: "Sign out" }).click();
    await tab.waitForURL("**/sign-in");
    await second.waitForURL("**/sign-in?back=*");
    expect((await second.context().cookies()).length).toBe(0);
  });

  it.each(["key was revoked", "cookie is over"])(
    "is nobody whose %s, who comes back to the same cell with another",
    async (how) => {
      // A cookie ends with its key, so that one of a short life need not be waited for.
      const key = await newKey("default", how === "cookie is over" ? { expires_at: soon() } : {});
      const page = await browser.open(`/sessions/${session}`, { key: key.secret, expected: REFUSED });
      const code = `import time\nprint('${how}: begun', flush=True)\ntime.sleep(600)`;
      const { id } = await client.start(session, code);
      await page.getByText(`${how}: begun`).last().waitFor();
      if (how === "key was revoked") await client.ok("DELETE", `/v1/keys/${key.id}`);
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      expect(await page.getByText("begun").count()).toBe(0);
      await signInWith(page, (await newKey("default")).secret);
      await page.waitForURL(`**/sessions/${session}`);
      await page.getByText(`${how}: begun`).last().waitFor();
      await client.ok("POST", `/v1/sessions/${session}/executions/${id}/interrupt`);
      await page.getByText("KeyboardInterrupt").last().waitFor();
    },
  );

  it("finds nothing at another tenant's addresses, as if it had never been there", async () => {
    const { secret } = await newKey("rival");
    const page = await browser.open("/sessions", { key: secret, expected: REFUSED });
    await page.getByRole("heading", { name: "Run something" }).waitFor();
    const missing = `ses_${"0".repeat(session.length - 4)}`;
    for (const room of ["", "/terminal", "/files", "/processes", "/artifacts", "/details"]) {
      const seen: string[] = [];
      for (const id of [session, missing]) {
        await page.goto(`${stack.url}/sessions/${id}${room}`);
        await page.getByText("No such session").waitFor();
        const text = (await page.getByRole("main").textContent())!;
        seen.push(text.replaceAll(id, "ID").replace(/req_\w+/, "REQUEST"));
      }
      expect(seen[0]).toBe(seen[1]);
      expect(seen[0]).toContain("NOT_FOUND, request REQUEST");
      expect(seen[0]).not.toContain("quarterly");
    }
  });

  it("shows names that are markup as text, everywhere", async () => {
    const bad = `"><img src=x onerror=alert(1)><b>`;
    const { id } = await client.create({ key: `key ${bad}`, labels: { team: bad } });
    const { secret } = await newKey("default", { name: `me ${bad}`, scopes: ["admin"] });
    await client.run(
      id,
      `from pathlib import Path
Path("/session/artifacts/a ${bad.replaceAll('"', '\\"')}.txt").write_text("kept")
Path("/session/f ${bad.replaceAll('"', '\\"')}.txt").write_text("file")`.replaceAll("</", "<"),
    );
    const page = await browser.open("/sessions", { key: secret });
    await page
      .getByRole("row", { name: /key "><img/ })
      .getByText(`team=${bad}`)
      .waitFor();
    for (const room of ["", "/terminal", "/files", "/processes", "/artifacts", "/details"]) {
      await page.goto(`${stack.url}/sessions/${id}${room}`);
      await page.getByRole("heading", { name: `Session key ${bad}` }).waitFor({ state: "attached" });
      expect(await page.locator("img[src=x]").count()).toBe(0);
    }
    for (const [room, text] of [
      ["artifacts", `a ${bad}.txt`],
      ["keys", `me ${bad}`],
    ] as const) {
      await page.goto(`${stack.url}/${room}`);
      await page.getByRole("row").getByText(text).waitFor();
      expect(await page.locator("img[src=x]").count()).toBe(0);
    }
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Type a command").fill("onerror");
    expect(await page.title()).toMatch(/Sandbar$/);
    expect(await page.locator("img[src=x]").count()).toBe(0);
  });
});
