/** The chat of the console, in a real browser, against the whole product and a scripted model. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { problems } from "../fixtures/axe.ts";
import { useBrowser } from "../fixtures/browser.ts";
import { run, useChat } from "../fixtures/chat.ts";

/** Set to a folder, the chat's pictures are put there. */
const PICTURES = process.env.SANDBAR_SCREENSHOTS;

const chat = useChat();
const { stack } = chat;
const browser = useBrowser(stack);

const question = (page: Page) => page.getByRole("textbox", { name: "Question" });

async function ask(page: Page, text: string): Promise<void> {
  await question(page).fill(text);
  await question(page).press("Enter");
}

const CSV = "city,rain\nBergen,290\nOslo,80\nTromsø,100\n";
const ANALYSE = `import pandas as pd, matplotlib.pyplot as plt
df = pd.read_csv("/session/rain.csv")
print(df.rain.mean())
df.plot.bar(x="city", y="rain")
df.to_csv("/session/artifacts/sorted.csv")
plt.show()`;

const LOOK = `import pandas as pd, matplotlib.pyplot as plt
df = pd.DataFrame({"city": ["Bergen", "Oslo", "Tromsø"], "rain": [290, 80, 100]})
open("/session/artifacts/rain.csv", "w").write(df.to_csv(index=False))
df.plot.bar(x="city", y="rain", figsize=(5, 2.4)); plt.show()
df`;

it("analyses a file that came with the question: output, plot, artifact; the next turn finds variables", async () => {
  const page = await browser.open("/chat");
  await page.getByLabel("Files", { exact: true }).setInputFiles({
    ...{ name: "rain.csv", mimeType: "text/csv", buffer: Buffer.from(CSV) },
  });
  chat.model.script({ text: "Let me **look**.", calls: [run(ANALYSE)] }, { text: "Bergen is the wettest." });
  await ask(page, "Which city is the wettest?");
  await page.waitForURL("**/chat/*");
  await page.getByText("Bergen is the wettest.").waitFor();
  expect(chat.model.requests[0]!.messages.at(-1)!.text).toContain("- /session/rain.csv");
  await page.getByText("156.66").waitFor();
  const plot = page.getByRole("img", { name: "What the code has drawn" });
  await plot.waitFor();
  expect(
    await page.evaluate<number>("document.querySelector('img[alt^=What]').naturalWidth"),
  ).toBeGreaterThan(100);
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("region", { name: "Artifact sorted.csv" }).getByRole("link", { name: "Download" }).click(),
  ]);
  expect(readFileSync(await file.path(), "utf8")).toContain("Bergen");

  chat.model.script({ calls: [run("df.shape")] }, { text: "Three rows." });
  await ask(page, "How many rows?");
  await page.getByText("Three rows.").waitFor();
  await page.getByText("(3, 2)").waitFor();

  // All of it is there again.
  await page.reload();
  await page.getByText("Three rows.").waitFor();
  await plot.waitFor();
  expect(await page.getByText("Bergen is the wettest.").count()).toBe(1);
  await page.getByRole("link", { name: "Open sandbox" }).click();
  await page.waitForURL("**/sessions/ses_*");
});

it("is whole and accessible, light, dark and on a phone", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  chat.model.script(
    { text: "I read the file first.\n\n```python\ndf.describe()\n```", calls: [run(LOOK)] },
    { text: "**Bergen** is the wettest, with $290$ days:\n\n| city | rain |\n|---|---|\n| Bergen | 290 |" },
  );
  const messages = [{ role: "user", content: "Which city is the wettest?" }];
  await langgraph.runs.wait(thread_id, "agent", { input: { messages } });
  for (const [look, options] of [
    ["light", {}],
    ["dark", { dark: true }],
    ["phone", { dark: true, phone: true }],
  ] as const) {
    const page = await browser.open(`/chat/${thread_id}`, options);
    await page.getByText("is the wettest, with").waitFor();
    await page.getByRole("img", { name: "What the code has drawn" }).waitFor();
    await page.frameLocator("iframe").getByText("Bergen").waitFor();
    expect(await problems(page)).toEqual([]);
    await picture(page, `chat-${look}`);
    if (look !== "phone") await page.getByTitle("Model and settings").click();
    else await page.getByRole("button", { name: "Chats" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await problems(page)).toEqual([]);
    await picture(page, `chat-settings-${look}`);
  }
});

async function picture(page: Page, name: string): Promise<void> {
  if (!PICTURES) return;
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

it("an edited question branches, and both versions stay", async () => {
  const page = await browser.open("/chat");
  chat.model.says(({ messages }) => ({ text: `answer to ${messages.at(-1)!.text}` }));
  await ask(page, "one");
  await page.getByText("answer to one").waitFor();
  await page.getByRole("button", { name: "Edit the question" }).click();
  const edited = page.getByRole("form", { name: "Edit the question" }).getByRole("textbox");
  await edited.fill("other");
  await edited.press("Enter");
  await page.getByText("answer to other").waitFor();
  await page.getByText("2/2").waitFor();
  await page.getByRole("button", { name: "Earlier version" }).click();
  await page.getByText("answer to one").waitFor();
  await page.getByText("1/2").waitFor();
});

it("stop ends the code", async () => {
  const page = await browser.open("/chat");
  chat.model.script({ calls: [run("import time\nprint('begun', flush=True)\ntime.sleep(600)")] });
  await ask(page, "Wait");
  await page.getByText("begun", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped here.").waitFor();
});

it("is the same after a reload in the middle, in two browsers, and after the control plane has died", async () => {
  const expected = /ERR_|50[0234]|NETWORK_ERROR/;
  const page = await browser.open("/chat", { expected });
  const code = "import time\nfor i in range(12):\n    print('tick', i, flush=True)\n    time.sleep(0.7)";
  chat.model.script({ text: "I count.", calls: [run(code)] }, { text: "Counted to the end." });
  await ask(page, "Count");
  await page.getByText("tick 1").waitFor();
  await page.reload();
  await page.getByText("tick 3").waitFor();
  const other = await browser.open(new URL(page.url()).pathname, { expected, dark: true });
  await other.getByText("tick 4").waitFor();
  await ask(page, "And then?");
  await page.getByText("waits for its turn").waitFor();
  await page.getByRole("button", { name: "Take it back" }).click();
  await page.getByText("waits for its turn").waitFor({ state: "hidden" });
  await stack.killServer();
  await stack.startServer();
  for (const each of [page, other]) {
    await each.getByText("Counted to the end.").waitFor();
    const text = (await each.getByRole("log").textContent())!;
    for (const said of ["I count.", "Counted to the end."]) expect(text.split(said)).toHaveLength(2);
    const ticks = [...text.matchAll(/tick (\d+?)(?=tick|\s|Counted)/g)].map(([, number]) => Number(number));
    expect(ticks).toEqual(Array.from({ length: 12 }, (_, index) => index));
  }
});

it("waits for a human's word: rejected, edited, approved", async () => {
  const { client } = await signedUp("careful");
  await client.ok("PUT", "/v1/settings", { approval: true });
  const page = await browser.open("/chat", { key: client.key });
  chat.model.script({ calls: [run("print(6 * 7)")] }, { text: "Forty-three, then." });
  await ask(page, "What is 6 * 7?");
  const waits = page.getByRole("region", { name: "Waits for your word" });
  await waits.getByRole("button", { name: "Edit" }).click();
  await waits.getByLabel("Code to run instead").fill("print(6 * 7 + 1)");
  await waits.getByRole("button", { name: "Run this" }).click();
  await page.getByText("43", { exact: true }).waitFor();
  await page.getByText("Forty-three, then.").waitFor();
  chat.model.script({ calls: [run("print('never')")] }, { text: "As you like." });
  await ask(page, "Again");
  await waits.getByRole("button", { name: "Reject" }).click();
  await waits.getByLabel("Why not").press("Enter");
  await page.getByText("As you like.").waitFor();
});

it("without a model it says what to set; another tenant's chat is not there", async () => {
  const mine = await chat.langgraph().threads.create();
  const { client } = await signedUp("newcomer");
  const page = await browser.open(`/chat/${mine.thread_id}`, { key: client.key, expected: /404/ });
  await page.getByText("There is no such chat").waitFor();
  await client.ok("PUT", "/v1/settings", { model: "compatible:x", base_url: null });
  await page.goto(`${stack.url}/chat`);
  await page.getByText("A compatible model needs its base_url.").waitFor();
  expect(await page.getByText("Ollama runs here").count()).toBe(0);
  await page.getByLabel("Base URL").fill(chat.model.openai);
  await page.getByLabel("API key").fill("sk-secret-1234");
  chat.model.says(() => ({ text: "Hello." }));
  await page.getByRole("button", { name: "Test this model" }).click();
  await page.getByText("It answers, after").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await ask(page, "Hi");
  await page.getByText("Hello.", { exact: true }).waitFor();
  expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage])")).not.toContain("sk-secret");

  // An Ollama that runs is offered, and needs nothing but a choice.
  chat.model.pulled = ["qwen3:8b"];
  await client.ok("PUT", "/v1/settings", { model: "compatible:x", base_url: null });
  await page.goto(`${stack.url}/chat`);
  const offer = page.getByRole("group", { name: "Ollama runs here" });
  await offer.getByRole("button", { name: "qwen3:8b" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await ask(page, "Who are you?");
  await page.getByText("Hello.", { exact: true }).waitFor();
  expect(chat.model.requests.at(-1)!.model).toBe("qwen3:8b");
});

async function signedUp(tenant: string) {
  return { client: await stack.clientOf(tenant) };
}
