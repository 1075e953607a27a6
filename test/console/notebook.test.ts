import { readFileSync } from "node:fs";
import type { Execution } from "@sandbar/shared";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** Where something is typed and has not run. */
const draft = (page: Page) => page.getByRole("region", { name: "New cell" }).last();
const cells = (page: Page) => page.getByRole("region", { name: /^Cell,/ });
const cell = (page: Page, text: string) => cells(page).filter({ hasText: text });

async function run(page: Page, code: string): Promise<void> {
  await draft(page).locator(".cm-content").click();
  await page.keyboard.insertText(code);
  await page.keyboard.press("Shift+Enter");
}

const TICKS = "import time\nfor i in range(40):\n    print('tick', i, flush=True)\n    time.sleep(0.25)";
const ticksIn = async (page: Page) => {
  const output = await cell(page, "tick").last().locator("pre").last().textContent();
  return [...output!.matchAll(/^tick (\d+)$/gm)].map(([, n]) => Number(n));
};

/** They may be asked for just as the next cell begins. */
const VARIABLES_TOO_LATE = /409 .*\/state\?/;

describe("a session in the console", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);

  it("is made by the form, runs, draws, completes, and is stopped in the list", async () => {
    const tenant = `newcomer-${Date.now()}`;
    const { secret: key } = await client.ok<{ secret: string }>("POST", "/v1/keys", {
      name: tenant,
      tenant,
      scopes: ["agent"],
    });
    const page = await browser.open("/", { key, expected: VARIABLES_TOO_LATE });
    await page.getByRole("heading", { name: "Run something" }).waitFor();
    expect(await page.getByRole("link", { name: "Hosts" }).count()).toBe(0);
    await page.keyboard.press("c");
    await page.getByLabel("Key").fill("by hand");
    await page.evaluate(`steps = new Set(); new MutationObserver(() => {
      for (const step of document.querySelectorAll("[role=dialog] li")) steps.add(step.textContent);
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    await page.getByRole("button", { name: "Create session" }).click();
    await page.waitForURL("**/sessions/ses_*");
    const steps = await page.evaluate<string[]>("[...steps]");
    expect(steps).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^Make the container/),
        expect.stringMatching(/^Start the kernel/),
      ]),
    );
    await run(page, "import pandas as pd\nframe = pd.DataFrame({'city': ['Oslo'], 'visits': [42]})\nframe");
    await page.frameLocator("iframe").getByText("Oslo").waitFor();
    await page.getByRole("complementary", { name: "Variables" }).getByText("DataFrame").waitFor();

    await draft(page).locator(".cm-content").click();
    await page.keyboard.type("frame.vis");
    await page.locator(".cm-tooltip-autocomplete").getByText("visits").click();
    await page.keyboard.press("Shift+Enter");
    await cell(page, "frame.visits").getByText("Name: visits").waitFor();

    await run(page, "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); plt.show()");
    await cell(page, "plt.plot").getByRole("img").waitFor();

    // Edited and run again in its place, also after a reload.
    await cell(page, "frame.visits").getByRole("textbox").press("Enter");
    await cell(page, "frame.visits").locator(".cm-content").press("Control+End");
    await page.keyboard.insertText(".sum() + 1000");
    await page.keyboard.press("Control+Enter");
    await cell(page, "1042").getByText("×2").waitFor();
    await page.reload();
    await cell(page, "1042").waitFor();
    expect(await cells(page).count()).toBe(3);

    await page.getByRole("link", { name: "Sessions" }).first().click();
    const row = page.getByRole("row", { name: /by hand/ });
    await row.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("button", { name: "Stop session" }).click();
    await row.waitFor({ state: "hidden" });
  });

  it("shows what somebody else runs while it runs, and all of it after a reload in the middle", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}`, { dark: true, expected: VARIABLES_TOO_LATE });
    await draft(page).waitFor();
    const answer = client.ok<Execution>("POST", `/v1/sessions/${id}/executions`, { code: TICKS });
    await cell(page, "tick 2").waitFor();
    await page.reload();
    await cell(page, "tick 6").waitFor();
    const seen = await ticksIn(page);
    expect(seen).toEqual(seen.map((_, index) => index));
    await page.getByRole("button", { name: "Interrupt" }).first().click();
    expect((await answer).status).toBe("interrupted");
    await cell(page, "KeyboardInterrupt").waitFor();
  });

  it("keeps the order in which output came, also of what ended before a reload", async () => {
    const { id } = await client.create();
    const code = "for i in range(3):\n    print('said', i)\n    display({'shown': i})";
    await client.run(id, code);
    const page = await browser.open(`/sessions/${id}`);
    const inOrder = /said 0.*shown.*0.*said 1.*shown.*1.*said 2.*shown.*2/s;
    await cell(page, "said 0").filter({ hasText: inOrder }).waitFor();
    await page.reload();
    await cell(page, "said 0").filter({ hasText: inOrder }).waitFor();
  });

  it("goes on after the control plane has gone and come back, without losing or repeating a line", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}`, {
      expected: /ERR_|50[234]|NETWORK_ERROR|409 .*\/state\?/,
    });
    await draft(page).waitFor();
    await run(page, TICKS);
    await cell(page, "tick 3").waitFor();
    await stack.killServer();
    await page.getByText("Connection lost, retrying").waitFor();
    await stack.startServer();
    await cell(page, "tick 39").waitFor({ timeout: 60_000 });
    expect(await ticksIn(page)).toEqual(Array.from({ length: 40 }, (_, index) => index));
    await page.getByText("Connection lost, retrying").waitFor({ state: "hidden" });
  });

  it("keeps hostile output in frames that reach nothing, and says what was cut", async () => {
    const { id } = await client.create();
    const hostile = `<script>
      const told = [];
      try { parent.document.title = "taken"; told.push("page") } catch {}
      try { localStorage.x = 1; told.push("storage") } catch {}
      try { if (document.cookie) told.push("cookie") } catch {}
      fetch("/v1/me").then(() => told.push("net"), () => {}).finally(() =>
        document.body.append("reached: " + (told.join() || "nothing")));
    </script>`;
    const show = (name: string, data: string) =>
      `from IPython.display import *\n${name}(${JSON.stringify(data)})`;
    for (const code of [
      show("HTML", `${hostile}<img src=x onerror="alert(1)">`),
      show(
        "SVG",
        `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="parent.document.title='taken'"/>`,
      ),
      show("Markdown", `**bold**<img src=x onerror="document.title='taken'">[x](javascript:alert(1))`),
      "print('x' * 70_000)",
      `raise ValueError("<img src=x onerror=document.title='taken'>")`,
    ])
      await client.ok("POST", `/v1/sessions/${id}/executions`, { code });
    const page = await browser.open(`/sessions/${id}`, { expected: /Content Security Policy|ERR_|sandbox/ });
    await cell(page, "ValueError").waitFor();
    await cells(page).first().scrollIntoViewIfNeeded();
    await page.frameLocator("iframe >> nth=0").getByText("reached: nothing").waitFor();
    await cell(page, "bold").locator("strong").waitFor();
    expect(await page.title()).toMatch(/Sandbar$/);
    await page.getByRole("button", { name: "Load the whole" }).click();
    await eventually("all of it is there", 10_000, async () =>
      page.locator("pre").evaluateAll((all) => all.some(({ textContent }) => textContent?.length === 70_000)),
    );
  });

  it("has contexts beside each other, begins one anew, and goes into a file for Jupyter", async () => {
    const { id } = await client.create({ key: "to go" });
    const page = await browser.open(`/sessions/${id}`, { expected: VARIABLES_TOO_LATE });
    await draft(page).waitFor();
    await run(page, "x = 1; print('\\x1b[31mred\\x1b[0m', x)");
    await cell(page, "red 1").waitFor();
    await page.getByRole("button", { name: "New context" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("beside");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("combobox", { name: "Context" }).first().filter({ hasText: "beside" }).waitFor();
    await run(page, "'x' in globals()");
    await cell(page, "beside").getByText("False", { exact: true }).waitFor();

    await page.getByRole("combobox", { name: "Context" }).first().click();
    await page.getByRole("option", { name: /^Python/ }).click();
    await page.getByRole("button", { name: "Restart" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await run(page, "x");
    await cell(page, "NameError").waitFor();

    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "File" }).click();
    await page.getByRole("menuitem", { name: "Export as .ipynb" }).click();
    expect((await download).suggestedFilename()).toBe("to_go.ipynb");
    const { nbformat, cells: kept } = JSON.parse(readFileSync(await (await download).path(), "utf8"));
    expect(nbformat).toBe(4);
    const types = kept.map(({ outputs }: { outputs: { output_type: string }[] }) => outputs[0]?.output_type);
    expect(types).toEqual(["stream", "display_data", "error"]);
  });

  it.each([
    {
      runtime: "node",
      code: "const o = {a: 1}; o",
      typed: "o.toStr",
      offered: "toString",
      slow: "await new Promise((resolve) => setTimeout(resolve, 600_000))",
    },
    { runtime: "r", code: "x <- 40 + 2; x", typed: "summar", offered: "summary", slow: "Sys.sleep(600)" },
    { runtime: "bash", code: "echo 42; (exit 3)", typed: "ech", offered: "echo", slow: "sleep 600" },
  ])("runs, completes and interrupts $runtime", async ({ runtime, code, typed, offered, slow }) => {
    const { id } = await client.create({ runtime });
    const page = await browser.open(`/sessions/${id}`, { expected: VARIABLES_TOO_LATE });
    await draft(page).waitFor();
    await run(page, code);
    const panel = page.getByRole("complementary", { name: "Variables" });
    if (runtime === "bash") await cell(page, "error · exit code 3").waitFor();
    await panel.getByText({ node: /Object/, r: /numeric/, bash: "declare -p" }[runtime]!).waitFor();
    await draft(page).locator(".cm-content").click();
    await page.keyboard.type(typed);
    await page.locator(".cm-tooltip-autocomplete").getByText(offered, { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(slow);
    await page.keyboard.press("Shift+Enter");
    await cell(page, slow)
      .getByText(/^running/)
      .waitFor();
    await cell(page, slow).getByRole("button", { name: "Interrupt" }).click();
    await cell(page, slow)
      .getByText(/^interrupted/)
      .waitFor();
  });

  it("runs a notebook of Jupyter's, until a cell fails", async () => {
    const { id } = await client.create();
    const page = await browser.open(`/sessions/${id}`);
    await draft(page).waitFor();
    const notebook = {
      nbformat: 4,
      metadata: { kernelspec: { name: "python3" } },
      cells: [
        { cell_type: "markdown", source: "# Imported" },
        { cell_type: "code", source: "x = 6" },
        { cell_type: "code", source: ["%%bash\n", "echo $((40 + 2))"] },
        { cell_type: "code", source: "1 / 0" },
        { cell_type: "code", source: "print('never')" },
      ],
    };
    await page.getByLabel("Notebook file").setInputFiles({
      name: "given.ipynb",
      mimeType: "application/json",
      buffer: Buffer.from(JSON.stringify(notebook)),
    });
    await page.getByRole("heading", { name: "Imported" }).waitFor();
    await page.getByRole("button", { name: "Run all" }).click();
    await cell(page, "ZeroDivisionError").waitFor();
    await cell(page, "echo").getByText("42", { exact: true }).waitFor();
    const { data } = await client.ok<{ data: Execution[] }>("GET", `/v1/sessions/${id}/executions`);
    expect(data.map(({ code }) => code)).toEqual(["1 / 0", "echo $((40 + 2))", "x = 6"]);
  });

  it("says what it was denied by name, and is allowed more while it runs, with a secret kept here", async () => {
    const page = await browser.open("/secrets");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Store a secret" }).first().click();
    await dialog.getByRole("textbox", { name: "Name" }).fill("billing");
    await dialog.getByLabel("Value").fill("Bearer hunter2");
    await dialog.getByRole("textbox", { name: "May be sent to" }).fill("api.example.com");
    await dialog.getByRole("button", { name: "Store" }).click();
    await page.getByRole("row", { name: /billing.*api\.example\.com/ }).waitFor();
    await dialog.waitFor({ state: "detached" });
    expect(await page.content()).not.toContain("hunter2");

    const { id } = await client.create({ network: { allow: ["files.example.org"] } });
    await client.run(
      id,
      `import urllib.request
try: urllib.request.urlopen("http://unnamed.example/")
except Exception as error: print(error)`,
    );
    await page.goto(`${stack.url}/sessions/${id}/network`);
    await page.getByRole("row", { name: /denied.*unnamed\.example/ }).waitFor();
    await page.getByRole("button", { name: "Change" }).click();
    await dialog.getByRole("textbox", { name: "Hosts", exact: true }).fill("*.example.net:443");
    await dialog.getByRole("button", { name: "Add a secret" }).click();
    await dialog.getByRole("textbox", { name: "Host of the secret" }).fill("api.example.com");
    await dialog.getByRole("combobox", { name: "Secret" }).click();
    await page.getByRole("option", { name: "billing" }).click();
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByRole("region", { name: "Rules" }).getByText("*.example.net:443").waitFor();
    await page.getByText("from the secret billing").waitFor();
    const { allow, secrets } = await client.ok<{ allow: string[]; secrets: unknown[] }>(
      "GET",
      `/v1/sessions/${id}/network`,
    );
    expect(allow).toContain("*.example.net:443");
    expect(allow).not.toContain("files.example.org");
    expect(secrets).toEqual([{ host: "api.example.com", header: "Authorization", secret: "billing" }]);
    await client.stop(id);
    await page.goto(`${stack.url}/secrets`);
    await page.getByRole("button", { name: "Remove billing" }).click();
    await page.getByRole("button", { name: "Remove secret" }).click();
    await page.getByText("No secrets yet").waitFor();
  });

  it("mounts a volume that was made here, which is not deleted while it has it, with code, hint and request", async () => {
    const name = `models-${Date.now()}`;
    const page = await browser.open("/volumes", { expected: /status of 409/ });
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Create a volume" }).first().click();
    await dialog.getByRole("textbox", { name: "Name" }).fill(name);
    await dialog.getByRole("textbox", { name: "Size, MB" }).fill("64");
    await dialog.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("row", { name: new RegExp(`${name}.*of 64.0 MB`) }).waitFor();
    const { id } = await client.create({ volumes: [{ name, path: "/mnt/models" }] });
    await client.run(id, "open('/mnt/models/weights', 'w').write('kept')");
    await page.getByRole("button", { name: `Delete ${name}` }).click();
    await dialog.getByRole("button", { name: "Delete volume" }).click();
    const refusal = dialog.getByRole("alert");
    await refusal.getByText("VOLUME_IN_USE").waitFor();
    expect(await refusal.textContent()).toMatch(
      /A session has the volume.*Delete the sessions.*Request req_\w+/s,
    );
    await client.stop(id);
    // A list says so only after the volume was let go.
    await eventually("it is listed as stopped", 30_000, async () => {
      const { data } = await client.ok<{ data: { id: string }[] }>("GET", "/v1/sessions?status=stopped");
      return data.some((session) => session.id === id);
    });
    await dialog.getByRole("button", { name: "Delete volume" }).click();
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("row", { name: new RegExp(name) }).waitFor({ state: "detached" });
  });
});
