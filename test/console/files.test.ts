import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbar, type Session } from "@sandbar/sdk";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const MB = 1024 * 1024;

describe("files in the console", () => {
  const { stack } = useStack();
  const browser = useBrowser(stack);
  let session: Session;
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sandbar-upload-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(async () => {
    const sandbar = new Sandbar({ url: stack.url, apiKey: stack.key });
    session = await sandbar.session({ limits: { memory_mb: 1024, tmpfs_mb: 500 } });
  });

  const room = (path = "") => `/sessions/${session.id}/files${path && `?path=${encodeURIComponent(path)}`}`;
  const item = (page: Page, name: string) => page.getByRole("treeitem", { name, exact: true });

  it("takes a folder of 200 MB with its progress, gives it back, and stops when told to", async () => {
    const photos = join(folder, "photos");
    mkdirSync(join(photos, "deep/er"), { recursive: true });
    const piece = Buffer.alloc(50 * MB, "sandbar ");
    for (const name of ["1.raw", "2.raw", "3.raw", "deep/er/4.raw"]) writeFileSync(join(photos, name), piece);
    writeFileSync(join(photos, "ümläut & more.txt"), "small");
    const page = await browser.open(room());
    await item(page, "/session").waitFor();
    await page.evaluate(`seen = []; new MutationObserver(() => {
      const bar = document.querySelector("[role=progressbar]");
      if (bar) seen.push(Number(bar.getAttribute("aria-valuenow")));
    }).observe(document.body, { subtree: true, childList: true, attributes: true })`);
    await page.getByLabel("Folder to upload").setInputFiles(photos);
    await page.getByText(/in 5 files/).waitFor({ timeout: 90_000 });
    const seen = await page.evaluate<number[]>("seen");
    expect(new Set(seen.filter((percent) => percent > 0 && percent < 100)).size).toBeGreaterThan(3);
    await item(page, "photos").click();
    await item(page, "ümläut & more.txt").waitFor();
    expect((await session.files.stat("photos/deep/er/4.raw")).size).toBe(50 * MB);

    const download = page.waitForEvent("download");
    await item(page, "1.raw").click();
    await page.getByRole("button", { name: "Download", exact: true }).click();
    const bytes = readFileSync(await (await download).path());
    const hash = (data: Buffer) => createHash("sha256").update(data).digest("hex");
    expect(hash(bytes)).toBe(hash(piece));
    await session.files.remove("photos/1.raw");
    await session.files.remove("photos/2.raw");
    await session.files.remove("photos/3.raw");
    await session.files.remove("photos/deep", { recursive: true });
    const tar = page.waitForEvent("download");
    await item(page, "photos").click();
    await page.getByRole("button", { name: "Download as tar" }).click();
    expect((await tar).suggestedFilename()).toBe("photos.tar");
    expect(readFileSync(await (await tar).path()).includes("small")).toBe(true);

    await item(page, "/session").click();
    await page.getByLabel("Folder to upload").setInputFiles(photos);
    await page.getByRole("button", { name: "Replace" }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText(/^Cancelled/).waitFor();
    expect(await session.files.exists("photos/1.raw")).toBe(false);
  });

  it("takes folders that are dropped onto the page, or onto a folder in the tree", async () => {
    const dropped = join(folder, "dropped");
    mkdirSync(join(dropped, "deep/empty"), { recursive: true });
    // More than the hundred that a browser tells at a time.
    for (let i = 0; i < 120; i++) writeFileSync(join(dropped, `${i}.txt`), String(i));
    writeFileSync(join(folder, "alone.txt"), "alone");
    await session.files.mkdir("inbox");
    const page = await browser.open(room());
    await item(page, "inbox").waitFor();
    await drop(
      page,
      [dropped, join(folder, "alone.txt")],
      page.getByRole("region", { name: "File", exact: true }),
    );
    await page.getByText(/in 121 files/).waitFor();
    await item(page, "dropped").waitFor();
    expect(await session.files.readText("dropped/119.txt")).toBe("119");
    expect(await session.files.readText("alone.txt")).toBe("alone");
    expect((await session.files.stat("dropped/deep/empty")).type).toBe("directory");
    await drop(page, [join(folder, "alone.txt")], item(page, "inbox"));
    await eventually("in the folder", 10_000, () => session.files.exists("inbox/alone.txt"));
  });

  it("edits text, and says when somebody else has changed it meanwhile", async () => {
    await session.files.write("notes.md", "one\n", { mode: "755" });
    // The save that is refused is complained about.
    const page = await browser.open(room("/session/notes.md"), { expected: /status of 412/ });
    const text = page.getByRole("textbox", { name: "File content" });
    await text.click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("two");
    await page.keyboard.press("Control+s");
    await eventually("saved", 10_000, async () => (await session.files.readText("notes.md")) === "one\ntwo");
    expect((await session.files.stat("notes.md")).mode & 0o777).toBe(0o755);
    await page.getByRole("button", { name: "Save", disabled: true }).waitFor();

    // What nobody edits is simply shown anew.
    await session.files.write("notes.md", "theirs\n");
    await text.getByText("theirs").waitFor();
    await text.click();
    await page.keyboard.type("mine ");
    await session.files.write("notes.md", "theirs again\n");
    await page.getByText("changed by somebody else").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    expect(await session.files.readText("notes.md")).toBe("theirs again\n");
    await page.getByRole("button", { name: "Overwrite with mine" }).click();
    await eventually("overwritten", 10_000, async () =>
      (await session.files.readText("notes.md")).includes("mine"),
    );
  });

  it("shows tables, images and pages; the pages reach neither cookie nor API", async () => {
    await session
      .run(
        `import pandas as pd, matplotlib.pyplot as plt
frame = pd.DataFrame({"city": ["Rīga", "Oslo"], "degrees": [21.5, 17.25]})
frame.to_csv("table.csv", index=False)
for how in ("snappy", "zstd", "gzip"): frame.to_parquet(f"{how}.parquet", compression=how)
plt.figure(figsize=(2, 1)); plt.savefig("plot.png", dpi=100)`,
      )
      .then((run) => run.ok());
    await session.files.write(
      "page.html",
      `<h1>made here</h1><script>
      const say = (text) => document.body.append(text + " ");
      try { say(document.cookie || "empty") } catch (error) { say(error.name) }
      try { say(parent.document.title) } catch (error) { say(error.name) }
      fetch("/v1/me").then(() => say("fetched"), () => say("no network"));
      </script>`,
    );
    await session.files.write("raw.bin", new Uint8Array([0, 1, 2, 0x53, 0x42]));
    const page = await browser.open(room(), { expected: /Content Security Policy/ });
    await item(page, "table.csv").click();
    await page.getByRole("cell", { name: "Rīga" }).waitFor();
    for (const how of ["snappy", "zstd", "gzip"]) {
      await item(page, `${how}.parquet`).click();
      await page.getByRole("columnheader", { name: /^degrees ?double$/ }).waitFor();
      await page.getByRole("cell", { name: "17.25" }).waitFor();
    }
    await item(page, "plot.png").click();
    const image = page.getByRole("img", { name: "plot.png" });
    const width = () =>
      image.evaluate((element) => (element as unknown as { naturalWidth: number }).naturalWidth);
    await eventually("drawn", 10_000, async () => (await width()) === 200);
    await item(page, "page.html").click();
    const frame = page.frameLocator("iframe[title='page.html']");
    await frame.getByText(/SecurityError SecurityError no network/).waitFor();
    await item(page, "raw.bin").click();
    await page.getByText("00 01 02 53 42").waitFor();
  });

  it("shows hostile names harmlessly", async () => {
    const names = {
      "<img src=x onerror=alert(1)>": "<img src=x onerror=alert(1)>",
      "gpj.\u202eexe": "gpj.\\u{202e}exe",
      "a\nb\x1b[31m": "a\\nb\\e[31m",
      ["x".repeat(255)]: "x".repeat(255),
    };
    for (const name of Object.keys(names)) await session.files.write(`hostile/${name}`, name);
    await session.run(`open(b"hostile/\\xff\\xfe.txt", "w").write("not UTF-8")`).then((run) => run.ok());
    const page = await browser.open(room("/session/hostile"));
    await item(page, "hostile").click();
    for (const label of Object.values(names)) {
      await item(page, label).click();
      await page.getByRole("textbox", { name: "File content" }).waitFor();
    }
    await page.getByRole("treeitem", { name: /\ufffd/ }).click();
    await page.getByText("not UTF-8").waitFor();
    expect(await page.locator("img[src=x]").count()).toBe(0);
    const overflow = await page.evaluate<number>("document.body.scrollWidth - innerWidth");
    expect(overflow).toBeLessThanOrEqual(0);
  });

  it("follows what code does, and is driven by keys, with 10,000 files in a folder", async () => {
    const page = await browser.open(room());
    await item(page, "/session").waitFor();
    await session
      .run(`import os; os.makedirs("many")\nfor i in range(10_000): open(f"many/{i}.txt", "w").close()`)
      .then((run) => run.ok());
    await item(page, "many").click();
    await item(page, "0.txt").waitFor();
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowUp");
    expect(await page.getByRole("treeitem").count()).toBeLessThan(100);
    await page.keyboard.press("Home");
    await page.keyboard.type("many");
    await page.keyboard.press("ArrowRight");
    // It is open before it moves: one that is asked for just after it has gone is a 404.
    await page.waitForURL(({ searchParams }) => searchParams.get("path") === "/session/many/0.txt");
    await page.getByRole("textbox", { name: "File content" }).waitFor();
    await page.keyboard.press("F2");
    await page.getByRole("textbox", { name: "Path" }).fill("/session/renamed.txt");
    await page.keyboard.press("Enter");
    await item(page, "renamed.txt").waitFor();
    expect(await session.files.exists("many/0.txt")).toBe(false);
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await item(page, "renamed.txt").click();
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await item(page, "renamed.txt").waitFor({ state: "detached" });
    expect(await session.files.exists("renamed.txt")).toBe(false);

    await page.getByRole("button", { name: "New file" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("made/by/hand.txt");
    await page.keyboard.press("Enter");
    await item(page, "hand.txt").waitFor();
  });
});

/** As from the desktop: the browser itself reads what lies at these paths. */
async function drop(page: Page, files: string[], onto: Locator): Promise<void> {
  const { x, y, width, height } = (await onto.boundingBox())!;
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await devtools.send("Input.dispatchDragEvent", { type, x: x + width / 2, y: y + height / 2, data });
  await devtools.detach();
}
