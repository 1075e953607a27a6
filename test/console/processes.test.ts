import { Sandbar, type Session } from "@sandbar/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("processes and ports in the console", () => {
  const { stack } = useStack();
  const browser = useBrowser(stack);
  let session: Session;
  beforeAll(async () => {
    session = await new Sandbar({ url: stack.url, apiKey: stack.key }).session({ key: "processes" });
  });
  const room = (search = "") => `/sessions/${session.id}/processes${search}`;

  it("starts one, follows it, feeds it and ends it", async () => {
    const page = await browser.open(room());
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page
      .getByRole("textbox", { name: "Command" })
      .fill(
        'printf "\\033[32mgreen\\033[0m $WHO in $PWD\\n"; while read line; do echo "got $line"; done; sleep 60',
      );
    await page.getByRole("textbox", { name: "Folder" }).fill("/tmp");
    await page.getByRole("textbox", { name: "Environment" }).fill("WHO=me");
    await page.getByRole("dialog").getByRole("button", { name: "Start", exact: true }).click();
    const output = page.locator(".xterm-rows");
    await output.getByText("green").waitFor();
    await output.filter({ hasText: "me in /tmp" }).waitFor();
    await page.getByRole("textbox", { name: "A line for its input" }).fill("first");
    await page.keyboard.press("Enter");
    await output.filter({ hasText: "got first" }).waitFor();

    // It runs on, and what it said is there again.
    await page.reload();
    await output.filter({ hasText: "got first" }).waitFor();
    await page.getByRole("button", { name: "Close input" }).click();
    await page.getByText("Its input is closed.").waitFor();
    await page.getByRole("button", { name: "Signal" }).click();
    await page.getByRole("menuitem", { name: /SIGTERM/ }).click();
    await page.getByText("SIGTERM").first().waitFor();
    await page.getByRole("button", { name: "Remove" }).click();
    await eventually("removed", 10_000, async () => (await session.processes.list()).length === 0);
  });

  it("opens a port in a page that reaches neither cookie nor API, as soon as something listens", async () => {
    // The policy that keeps the page apart, and the port that is closed at first, are complained about.
    const page = await browser.open(room("?port=8765"), { expected: /502|CORS|ERR_FAILED|401|403/ });
    await page.getByText("Nothing listens on port 8765 yet").waitFor();
    await session.files.write(
      "site/index.html",
      `<h1>served inside</h1><script>
      const say = (text) => document.body.append(text + "; ");
      try { say("cookie " + (document.cookie || "empty")) } catch (error) { say("cookie " + error.name) }
      try { say("page " + parent.document.title) } catch (error) { say("page " + error.name) }
      const ask = (what, init) => fetch(what, init).then(({ status }) => say(status), () => say("refused"));
      say("origin " + origin);
      ask("${stack.url}/v1/sessions", { credentials: "include" })
        .then(() => ask("${stack.url}/v1/sessions/${session.id}", { method: "DELETE", credentials: "include" }))
        .then(() => say("over"));
      </script>`,
    );
    const server = await session.processes.start("python3 -m http.server 8765 -d site");
    const frame = page.frameLocator("iframe[title='Port 8765 of the session']");
    await frame.getByText("over;").waitFor();
    const said = await frame.locator("body").textContent();
    expect(said).toContain("cookie SecurityError; page SecurityError; origin null; refused; refused; over;");
    expect(await page.locator("iframe").getAttribute("sandbox")).not.toContain("same-origin");

    // Alone in a tab it is no nearer to the console.
    const tab = page.context().waitForEvent("page");
    await page.getByRole("link", { name: "Open in a new tab" }).click();
    const alone = await tab;
    await alone.getByText("over;").waitFor();
    expect(await alone.locator("body").textContent()).toContain("cookie SecurityError");
    expect((await session.refresh()).status).toBe("ready");

    await page.goto(stack.url + room(`?process=${server.id}`));
    await page.getByText("python3 -m http.server").first().waitFor();
    await server.kill();
  });
});
