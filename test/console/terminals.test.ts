import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("a terminal in the console", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);
  const shows = (page: Page, text: string | RegExp) =>
    page.locator(".xterm-rows").filter({ hasText: text, visible: true }).waitFor();
  const openNew = async (page: Page) => {
    await page.getByRole("button", { name: "New terminal" }).first().click();
    await shows(page, "$");
  };

  it("runs a full-screen program, which is there again after a reload", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}/terminal`);
    await openNew(page);
    await page.keyboard.type("seq -f 'line %g' 1 900 > lines; less lines\n");
    await shows(page, /line 1\s*line 2/);
    // Inside such a program Ctrl F is its own, and pages.
    await page.keyboard.press("Control+f");
    await shows(page, "line 45");
    await page.keyboard.press("G");
    await shows(page, "line 900");

    await page.reload();
    await shows(page, "line 900");
    await page.keyboard.press("q");
    // What the replayed screen asked the terminal was not answered again into the shell.
    await page.keyboard.type("echo size $(stty size)\n");
    await shows(page, /size \d+ \d+/);
    const before = /size (\d+) (\d+)/.exec((await page.locator(".xterm-rows").textContent())!)!;
    await page.setViewportSize({ width: 900, height: 600 });
    await page.keyboard.type("clear; echo now $(stty size)\n");
    await shows(page, /now \d+ \d+/);
    const after = /now (\d+) (\d+)/.exec((await page.locator(".xterm-rows").textContent())!)!;
    expect(Number(after[1])).toBeLessThan(Number(before[1]));
    expect(Number(after[2])).toBeLessThan(Number(before[2]));

    await page.keyboard.press("Control+f");
    await page.getByRole("textbox", { name: "Find in the terminal" }).fill("now");
    await page.getByText(/\d of \d/).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.type("exit 3\n");
    await page.getByText("Ended with exit code 3.").waitFor();
  });

  it("comes back by itself when its line was cut, with everything that was in it", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}/terminal`, {
      expected: /WebSocket|status of (400|50\d)/,
    });
    await openNew(page);
    await page.keyboard.type("x=kept; echo ready$((1 + 1))\n");
    await shows(page, "ready2");
    await stack.killAgent("SIGKILL");
    await page.getByText("Connection cut").waitFor();
    await stack.startAgent();
    await page.getByText("Connection cut").waitFor({ state: "hidden" });
    await page.keyboard.type("echo $x$((1 + 1))\n");
    await shows(page, "kept2");
  });

  it("has several in tabs, on a phone too, and ends one only when that is meant", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}/terminal`, { phone: true, dark: true });
    await openNew(page);
    await page.keyboard.type("echo in the $((0 + 1))st\n");
    await shows(page, "in the 1st");
    await openNew(page);
    await page.getByRole("tab", { name: "Terminal 1" }).click();
    await shows(page, "in the 1st");
    await page.getByRole("button", { name: "End this terminal" }).click();
    await page.getByRole("button", { name: "End terminal", exact: true }).click();
    const path = `/v1/sessions/${id}/processes`;
    await eventually("one is left", 10_000, async () => {
      const { data } = await client.ok<{ data: { status: string }[] }>("GET", path);
      return data.length === 1 && data[0]!.status === "running";
    });
    await page.getByRole("tab", { name: "Terminal 2", selected: true }).waitFor();
  });
});
