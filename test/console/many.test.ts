import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { copyExecution, copySession } from "../fixtures/many-rows.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** So much work for one turn of the wheel, and one notices. In CPU time, so that a busy machine is no jank. */
const JANK_MS = 200;

/** Returns what tells how long the page's main thread has worked since it was last asked. */
async function workOf(page: Page): Promise<() => Promise<number>> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  let before = 0;
  const work = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    const now = metrics.find(({ name }) => name === "TaskDuration")!.value * 1000;
    const spent = now - before;
    before = now;
    return spent;
  };
  await work();
  return work;
}

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1]!;

describe("a console with much in it", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);
  let session: string;
  beforeAll(async () => {
    session = (await client.create({ key: "long-lived" })).id;
    const { id } = await client.run(session, 'print("cell", 0)');
    await eventually("the database has heard of it", 10_000, async () => {
      const { sessions } = await client.ok<{ sessions: number }>("GET", "/v1/usage");
      return sessions === 1;
    });
    await stack.killServer("SIGTERM");
    copySession(stack, session, 1000);
    copyExecution(stack, id, 9_990);
    await stack.startServer();
    await stack.waitForHost("online", 60_000);
  });

  it("lists 1,000 sessions, of which it draws those in sight, and finds one", async () => {
    const page = await browser.open("/sessions?show=all");
    await page.getByText("1,001 sessions").waitFor();
    const work = await workOf(page);
    const rows = page.getByRole("row");
    const table = page.getByRole("rowgroup");
    const scrolled = () =>
      table.evaluate((element) => (element as unknown as { scrollTop: number }).scrollTop);
    await table.hover();
    const costs: number[] = [];
    for (let step = 1; step <= 15; step++) {
      await page.mouse.wheel(0, 2000);
      await expect.poll(scrolled).toBe(2000 * step);
      await table.locator(`[aria-rowindex="${50 * step + 2}"]`).waitFor();
      expect(await rows.count()).toBeLessThan(80);
      costs.push(await work());
    }
    expect(median(costs)).toBeLessThan(JANK_MS);
    await page.getByRole("textbox", { name: "Search sessions" }).fill("thread-517");
    await page.getByText("1 session", { exact: true }).waitFor();
    await page.getByRole("row", { name: /thread-517/ }).waitFor();
  });

  it("shows the newest of 10,000 executions, and the earlier ones as one asks for them", async () => {
    const page = await browser.open(`/sessions/${session}`);
    const cells = page.getByRole("region", { name: /^Cell,/ });
    await cells.filter({ hasText: "cell 9990" }).waitFor();
    expect(await cells.count()).toBe(25);
    const work = await workOf(page);
    const costs: number[] = [];
    for (let pages = 2; pages <= 8; pages++) {
      await page.getByRole("button", { name: "Earlier cells" }).click();
      await expect.poll(() => cells.count()).toBe(25 * pages);
      costs.push(await work());
    }
    // As much for the last page as for the first.
    expect(median(costs.slice(-3))).toBeLessThan(JANK_MS);
    await cells.first().scrollIntoViewIfNeeded();
    await cells.filter({ hasText: "cell 9791" }).waitFor();

    // An agent goes on. Who is at the end keeps a page of bounded size, with every cell in its place.
    await page.getByRole("region", { name: "New cell" }).scrollIntoViewIfNeeded();
    for (let i = 0; i < 5; i++) await client.run(session, `print("new", ${i})`);
    await cells.filter({ hasText: "new 4" }).waitFor();
    await expect.poll(() => cells.count()).toBeLessThan(120);
    const before = await cells.count();
    await page.getByRole("button", { name: "Earlier cells" }).click();
    await expect.poll(() => cells.count()).toBe(before + 25);
    const numbers = (await cells.locator("pre").allTextContents())
      .map((text) => /^cell (\d+)$/.exec(text.trim())?.[1])
      .filter((text) => text !== undefined)
      .map(Number);
    expect(numbers).toEqual(numbers.map((_, index) => 9990 - numbers.length + 1 + index));
  });
});
