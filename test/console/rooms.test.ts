import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { problems } from "../fixtures/axe.ts";
import { useBrowser } from "../fixtures/browser.ts";
import { type Story, tellStory } from "../fixtures/story.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** Set to a folder, every room's picture is put there. */
const PICTURES = process.env.SANDBAR_SCREENSHOTS;

interface Room {
  name: string;
  path: (story: Story) => string;
  /** What is there when it has loaded. */
  shows: (page: Page) => Locator;
  prepare?: (page: Page) => Promise<void>;
}

const ROOMS: Room[] = [
  {
    name: "sessions",
    path: () => "/sessions?show=all",
    shows: (page) => page.getByRole("row", { name: /fx-backtest/ }),
  },
  {
    name: "new-session",
    path: () => "/sessions?show=all",
    shows: (page) => page.getByRole("dialog").getByRole("button", { name: "Create session" }),
    prepare: (page) => page.keyboard.press("c"),
  },
  {
    name: "notebook",
    path: ({ session }) => `/sessions/${session}`,
    shows: (page) => page.getByText("done").last(),
    prepare: async (page) => {
      await page.getByText("done").last().waitFor();
      await page.locator("img[alt]").first().scrollIntoViewIfNeeded();
    },
  },
  {
    name: "terminal",
    path: ({ session }) => `/sessions/${session}/terminal`,
    shows: (page) => page.locator(".xterm-rows").filter({ hasText: /epoch 5/, visible: true }),
  },
  {
    name: "files",
    path: ({ session }) => `/sessions/${session}/files?path=%2Fsession%2Fchurn%2Ftrain.py`,
    shows: (page) => page.getByRole("textbox", { name: "File content" }).getByText("gradient descent"),
  },
  {
    name: "processes",
    path: ({ session, server }) => `/sessions/${session}/processes?process=${server}`,
    shows: (page) => page.getByText("http.server").filter({ visible: true }).first(),
  },
  {
    name: "session-artifacts",
    path: ({ session }) => `/sessions/${session}/artifacts`,
    shows: (page) => page.getByRole("img", { name: "churn-by-tenure.png" }).last(),
    prepare: (page) => page.getByRole("row", { name: /churn-by-tenure.png/ }).click(),
  },
  {
    name: "session-datasets",
    path: ({ session }) => `/sessions/${session}/datasets`,
    shows: (page) => page.getByRole("link", { name: "Datasets" }).last(),
  },
  {
    name: "session-snapshots",
    path: ({ session }) => `/sessions/${session}/snapshots`,
    shows: (page) => page.getByRole("dialog").getByText("saved").first(),
    prepare: (page) => page.getByRole("row", { name: /before-tuning/ }).click(),
  },
  {
    name: "network",
    path: ({ named }) => `/sessions/${named}/network`,
    shows: (page) => page.getByRole("row", { name: /denied.*telemetry/ }),
  },
  {
    name: "details",
    path: ({ session }) => `/sessions/${session}/details`,
    shows: (page) => page.getByText("sandbar/python").first(),
  },
  {
    name: "artifacts",
    path: () => "/artifacts",
    shows: (page) => page.getByRole("row", { name: /at-risk.parquet/ }),
  },
  {
    name: "snapshots",
    path: () => "/snapshots",
    shows: (page) => page.getByRole("row", { name: /before-tuning/ }),
  },
  { name: "volumes", path: () => "/volumes", shows: (page) => page.getByRole("row", { name: /models/ }) },
  {
    name: "secrets",
    path: () => "/secrets",
    shows: (page) => page.getByRole("row", { name: /billing-api/ }),
  },
  {
    name: "policies",
    path: () => "/policies",
    shows: (page) => page.getByRole("dialog").getByText("as for all: yes").first(),
    prepare: (page) => page.getByRole("row", { name: /acme/ }).click(),
  },
  {
    name: "datasets",
    path: () => "/datasets",
    shows: (page) => page.getByRole("heading", { name: "Datasets", exact: true }),
  },
  {
    name: "usage",
    path: () => "/usage",
    shows: (page) => page.getByRole("main").locator("canvas").nth(3),
  },
  {
    name: "audit",
    path: () => "/audit",
    shows: (page) => page.getByRole("row", { name: /session\.create/ }).first(),
  },
  { name: "hosts", path: () => "/hosts", shows: (page) => page.getByRole("row", { name: /online/ }) },
  { name: "keys", path: () => "/keys", shows: (page) => page.getByRole("row", { name: /nightly reports/ }) },
  {
    name: "palette",
    path: () => "/keys",
    shows: (page) => page.getByRole("option", { name: /Sign out/ }),
    prepare: (page) => page.keyboard.press("Control+k"),
  },
  {
    name: "missing",
    path: () => "/nowhere",
    shows: (page) => page.getByText("There is nothing at this address"),
  },
  { name: "sign-in", path: () => "/sign-in", shows: (page) => page.getByLabel("API key") },
];

const LOOKS = [
  { look: "light", options: {} },
  { look: "dark", options: { dark: true } },
  { look: "phone", options: { dark: true, phone: true } },
];

describe("every room of the console", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);
  let story: Story;
  beforeAll(async () => {
    story = await tellStory(client);
  });

  it.each(LOOKS)("is whole and accessible: $look", async ({ look, options }) => {
    const page = await browser.open("/sessions", options);
    const wrong: string[] = [];
    for (const { name, path, shows, prepare } of ROOMS) {
      await page.goto(stack.url + path(story));
      await page.getByRole("main").waitFor();
      await prepare?.(page);
      await shows(page).waitFor();
      await page.waitForLoadState("load");
      for (const problem of await problems(page)) wrong.push(`${name}: ${problem}`);
      if (PICTURES) {
        mkdirSync(PICTURES, { recursive: true });
        await page.screenshot({ path: join(PICTURES, `${name}-${look}.png`) });
      }
    }
    expect(wrong).toEqual([]);
  });
});
