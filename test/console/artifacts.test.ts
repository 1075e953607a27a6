import { beforeAll, describe, expect, it } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** What a page would try that wants to be more than an output; it writes down what it could do. */
const GREEDY = (url: string) => `
const done = [];
const tries = {
  cookie: () => { if (document.cookie !== "") done.push("cookie"); },
  page: () => { parent.document.body.dataset.owned = "yes"; done.push("page"); },
  storage: () => { localStorage.setItem("owned", "yes"); done.push("storage"); },
};
for (const attempt of Object.values(tries)) try { attempt(); } catch {}
try { top.location = "about:blank"; } catch {}
const api = fetch("${url}/v1/me", { credentials: "include" }).then(() => done.push("api"), () => {});
const keys = fetch("${url}/v1/keys", { method: "POST", mode: "no-cors", body: "{}" }).then(() => done.push("keys"), () => {});
Promise.all([api, keys]).then(() => {
  const said = document.createElement("p");
  said.textContent = "reached: " + (done.join(", ") || "nothing");
  document.body.append(said);
});`;

describe("artifacts in the console", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);
  let session = "";
  beforeAll(async () => {
    session = (await client.create()).id;
    const script = JSON.stringify(GREEDY(stack.url));
    await client.run(
      session,
      `
import pandas as pd
A = "/session/artifacts/"
script = ${script}
pd.DataFrame({"city": ["Lagos", "Lima"] * 500, "amount": range(1000)}).to_parquet(A + "sales.parquet")
open(A + "prices.csv", "w").write("item;price\\nbread;3\\n")
open(A + "evil.html", "w").write("<h1>Report</h1><script>" + script + "</script>")
attribute = script.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
open(A + "evil.svg", "w").write('<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"><foreignObject width="80" height="40"><img xmlns="http://www.w3.org/1999/xhtml" src="x" onerror="' + attribute + '"/></foreignObject></svg>')
open(A + "<img src=x onerror=alert(1)>.txt", "w").write("a hostile name")
`,
    );
  });
  const HOSTILE = /Content Security Policy|sandboxed|Unsafe attempt|navigat/;

  it("are searched, looked into, linked to and deleted", async () => {
    const page = await browser.open(`/sessions/${session}/artifacts`);
    await page.getByText("sales.parquet").click();
    const rows = page.getByRole("region", { name: "First rows of sales.parquet" });
    await rows.getByText("Lima").first().waitFor();
    await page.getByText("The first 200 rows of 1,000, 2 columns").waitFor();

    await page.getByRole("button", { name: "Copy a link" }).click();
    await page.getByRole("combobox", { name: "Valid for" }).click();
    await page.getByRole("option", { name: "10 minutes" }).click();
    await page.getByRole("button", { name: "Copy link" }).click();
    const link = await page.getByRole("textbox", { name: "Link" }).inputValue();
    const bytes = await (await fetch(link)).arrayBuffer();
    expect(new TextDecoder().decode(bytes.slice(0, 4))).toBe("PAR1");
    await page.keyboard.press("Escape");

    await page.getByRole("textbox", { name: "Search artifacts" }).fill("prices");
    await page.getByText(/^1 of \d+$/).waitFor();
    await page.getByText("prices.csv").first().click();
    await page.getByRole("region", { name: "First rows of prices.csv" }).getByText("bread").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("prices.csv");

    await page.getByRole("checkbox", { name: "Choose prices.csv" }).click();
    await page.getByRole("button", { name: "Delete" }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Nothing matches").waitFor();
    expect(
      (await client.call("GET", `/v1/sessions/${session}/artifacts?name=prices.csv`)).body,
    ).toMatchObject({
      data: [],
    });
  });

  it.each(["evil.html", "evil.svg"])("reach nothing when they are pages: %s", async (name) => {
    const page = await browser.open("/artifacts", { expected: HOSTILE });
    await page.getByText(name, { exact: true }).click();
    await page.frameLocator(`iframe[title="${name}"]`).getByText("reached: nothing").waitFor();
    expect(page.url()).toBe(`${stack.url}/artifacts`);
    const owned = "[document.body.dataset.owned ?? null, localStorage.getItem('owned')]";
    expect(await page.evaluate(owned)).toEqual([null, null]);
  });

  it("are only text where their name is markup", async () => {
    const page = await browser.open("/artifacts", { phone: true, dark: true });
    await page.getByText("<img src=x onerror=alert(1)>.txt").click();
    await page.getByText("a hostile name").waitFor();
  });
});
