import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { useStack } from "../fixtures/use-stack.ts";

const cells = (page: Page) => page.getByRole("region", { name: /^Cell,/ });
const output = (page: Page, text: string) => cells(page).locator("pre", { hasText: text }).last();
const lines = async (page: Page) =>
  [...(await output(page, "line ").textContent())!.matchAll(/^line (\d+)$/gm)].map(([, n]) => Number(n));

const ticks = (count: number) =>
  `import time\nfor i in range(${count}):\n    print('line', i, flush=True)\n    time.sleep(0.1)`;

/** Variables were asked for just when the next cell began. */
const BUSY = /status of 409 .*\/state/;

describe("several who watch one session", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);

  it("see the same, once, as somebody else runs it", async () => {
    const { id } = await client.create();
    const pages = [
      await browser.open(`/sessions/${id}`, { expected: BUSY }),
      await browser.open(`/sessions/${id}`, { expected: BUSY, phone: true, dark: true }),
    ];
    for (const page of pages) await page.getByRole("region", { name: "New cell" }).waitFor();
    const { id: ran } = await client.start(id, ticks(30));
    await Promise.all(pages.map((page) => output(page, "line 5").waitFor()));
    // Also a burst of short ones, which have ended before anybody could follow them.
    await client.finished(id, ran);
    for (let i = 0; i < 10; i++) await client.run(id, `print("burst ${i} of", ${i} * 7)`);
    for (const page of pages) {
      await output(page, "burst 9 of 63").waitFor();
      await output(page, "line 29").waitFor();
      expect(await lines(page)).toEqual(Array.from({ length: 30 }, (_, n) => n));
      await expect.poll(() => cells(page).count()).toBe(11);
      const bursts = await cells(page)
        .locator("pre", { hasText: /^burst \d of/ })
        .allTextContents();
      expect(bursts.map((text) => text.trim())).toEqual(
        Array.from({ length: 10 }, (_, i) => `burst ${i} of ${i * 7}`),
      );
    }
    // One of them runs something; the other sees that too.
    await pages[0]!.getByRole("region", { name: "New cell" }).last().locator(".cm-content").click();
    await pages[0]!.keyboard.insertText("print('from one ' + 'to the other')");
    await pages[0]!.keyboard.press("Shift+Enter");
    for (const page of pages) await output(page, "from one to the other").waitFor();
    for (const page of pages) await expect.poll(() => cells(page).count()).toBe(12);
  });

  it("have many tabs of one browser, which share its few connections", async () => {
    const { id } = await client.create();
    const processes = `/v1/sessions/${id}/processes`;
    const talk = "while sleep 0.2; do echo again; done";
    const { id: talker } = await client.ok<{ id: string }>("POST", processes, { command: talk });
    const silent = await client.start(id, "import time\nprint('begun')\ntime.sleep(600)", { timeout_s: 700 });
    const first = await browser.open(`/sessions/${id}`, { expected: BUSY });
    await output(first, "begun").waitFor();
    const tab = async (path: string) => {
      const page = await first.context().newPage();
      await page.goto(`${stack.url}/sessions${path}`);
      return page;
    };
    const talking = await tab(`/${id}/processes?process=${talker}`);
    await talking.locator(".xterm-rows").getByText("again").first().waitFor();
    const files = await tab(`/${id}/files`);
    await files.getByRole("button", { name: /changes show by themselves/ }).waitFor();
    // Coming and going leaves no stream of the silent cell behind.
    for (let i = 0; i < 6; i++) {
      await first.getByRole("link", { name: "Details" }).click();
      await first.getByText("From your programs").waitFor();
      await first.getByRole("link", { name: "Notebook" }).click();
      await output(first, "begun").waitFor();
    }
    const list = await tab("");
    await list.getByRole("row", { name: /busy/ }).waitFor();

    // What one tab reads they all hear of, also when that one is closed.
    await first.close();
    await client.ok("POST", `/v1/sessions/${id}/executions/${silent.id}/interrupt`);
    await list.getByRole("row", { name: /busy/ }).waitFor({ state: "hidden" });
    const { key } = await client.create({ key: "made meanwhile" });
    await list.getByRole("row", { name: new RegExp(key) }).waitFor();
  });

  it("are told that the host is away, and go on by themselves when it is back, with nothing lost", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}`, { expected: /status of 50[34]/ });
    await page.getByRole("region", { name: "New cell" }).waitFor();
    const { id: ran } = await client.start(id, ticks(60));
    await output(page, "line 5").waitFor();
    await stack.killAgent();
    await page.getByText("This session's host cannot be reached").waitFor();
    await stack.startAgent();
    await output(page, "line 59").waitFor();
    expect(await lines(page)).toEqual(Array.from({ length: 60 }, (_, n) => n));
    expect((await client.finished(id, ran)).status).toBe("ok");
    await page.getByText("This session's host cannot be reached").waitFor({ state: "hidden" });
    await page.getByText("running").first().waitFor({ state: "hidden" });
  });

  it("catch up with all that ran while the control plane was away from them", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}`, { expected: /ERR_|NETWORK_ERROR/ });
    await client.run(id, "print('before')");
    await output(page, "before").waitFor();
    await page.context().setOffline(true);
    for (let i = 0; i < 60; i++) await client.run(id, `print("meanwhile", ${i})`);
    await page.context().setOffline(false);
    await output(page, "meanwhile 59").waitFor();
    await expect.poll(() => cells(page).count()).toBe(61);
  });
});
