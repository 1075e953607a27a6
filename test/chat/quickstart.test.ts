/** The quickstart's conversation, typed at a real terminal: the page shows what the terminal showed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { run, useChat } from "../fixtures/chat.ts";
import { screenText } from "../fixtures/screen-text.ts";
import { REPO } from "../fixtures/stack.ts";
import { onTty } from "../fixtures/tty.ts";

const PAGE = join(REPO, "docs/quickstart-agent.md");
const TRANSCRIPT = /(?<=^```text\n).*?(?=^```$)/ms;

const LOOK = `import pandas as pd
sales = pd.read_csv("/session/sales.csv")
totals = sales.pivot_table(index="month", columns="region", values="revenue", aggfunc="sum")
totals["total"] = totals.sum(axis=1)
print(totals)`;
const PLOT = `import matplotlib.pyplot as plt
regions = totals[["north", "south"]]
regions.plot.bar(stacked=True, rot=0, title="Revenue")
plt.show()`;
const BEST = `**May was best**, with a revenue of 30,000. The south made it: 14,900 after 9,800 in April.

| month   |  north |  south |      total |
|---------|-------:|-------:|-----------:|
| 2026-04 | 12,400 |  9,800 |     22,200 |
| 2026-05 | 15,100 | 14,900 | **30,000** |
| 2026-06 | 13,300 |  8,200 |     21,500 |`;

const chat = useChat();
const folder = mkdtempSync(join(tmpdir(), "sandbar-quickstart-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Times, sizes and ids are another's each time. */
const masked = (text: string) =>
  text.replace(/ in [\d.]+ m?s/g, " in …").replace(/\(\d+(\.\d+)? k?B\) ?\S*/g, "(…)");

// `npm test -- test/chat/quickstart.test.ts -u` writes the transcript again.
it("the quickstart's transcript is what a terminal shows", async () => {
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(join(folder, "sales.csv"), /(?<=^```csv\n).*?(?=^```$)/ms.exec(page)![0]);
  chat.model.script(
    { text: "I look at the file first.", calls: [run(LOOK)] },
    { text: "Now a picture of it.", calls: [run(PLOT)] },
    { text: BEST },
    { calls: [run('totals.to_csv("/session/artifacts/totals.csv")')] },
    { text: "Here it is: `totals.csv`, with a row for each month." },
  );
  const talk = onTty(["chat", "--new", "--file", "sales.csv"], {
    cwd: folder,
    env: {
      ...process.env,
      ...{ NO_COLOR: undefined, SANDBAR_URL: chat.stack.url, SANDBAR_API_KEY: chat.stack.key },
      ...{ HOME: folder, XDG_STATE_HOME: folder },
    },
  });
  const say = async (typed: string, until: RegExp) => {
    talk.type(typed);
    await talk.shows(until);
  };
  await talk.shows(/sales\.csv goes with the next question[\s\S]*› $/);
  await say("Which month was best, and why?\r", /21,500[\s\S]*› $/);
  await say("/approve on\r", /waits for your word[\s\S]*› $/);
  await say("Save the totals as a file for my boss.\r", /Run it\?.* $/);
  await say("y", /each month[\s\S]*› $/);
  await say("/expand 2\r", /plt\.show[\s\S]*› $/);
  talk.type("\x04");
  expect(await talk.ended).toBe(0);
  const command = "$ sandbar chat --new --file sales.csv";
  const transcript = `${command}\n${await screenText(talk.written())}\n`;
  const shown = page.replace(TRANSCRIPT, () => transcript);
  if (masked(shown) !== masked(page)) await expect(shown).toMatchFileSnapshot(PAGE);
});
