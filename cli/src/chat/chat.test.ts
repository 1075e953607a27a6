import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type CallItem, type ChatItem, EMPTY_CHAT, type RunRecord } from "@sandbar/sdk";
import { describe, expect, it, onTestFinished } from "vitest";
import { inlinePicture } from "../terminal/inline-picture.ts";
import { Screen } from "../terminal/screen.ts";
import { lines, plain } from "../terminal/style.ts";
import { nameOfInput, withAttachments } from "./attachments.ts";
import { foldedCall, liveCall, wholeCall } from "./call-view.ts";
import { LastThread } from "./last-thread.ts";
import { reportOf, transcript } from "./transcript.ts";
import { newLook, TurnView } from "./turn-view.ts";

const DRAWN: CallItem["output"][number] = { type: "result", data: { "image/png": null }, url: "/p" };
const CALL: CallItem = {
  kind: "call",
  id: "c",
  messageId: "a",
  name: "code_sandbox",
  args: {},
  code: "for i in range(9):\n    print(i)",
  language: null,
  status: "ok",
  output: [{ type: "stdout", text: "0\n1\n2\n3\n4\n5\n6\n7\n8\n" }],
  artifacts: [],
  durationMs: 1234,
  sessionId: "ses_1",
  executionId: "exe_1",
};
const look = { style: plain, number: 1, runtime: "python", saved: new Map(), expands: true };

describe("a call", () => {
  it("is folded to a line with its language and counts, and its last lines", () => {
    expect(foldedCall(CALL, look)).toEqual([
      "✓ python, 2 lines · ok in 1.2 s · 9 lines of output · /expand 1",
      "  │ 6",
      "  │ 7",
      "  │ 8",
    ]);
    expect(wholeCall(CALL, look)).toHaveLength(13);
  });

  it("shows its last lines while it runs, and a progress bar as it stands now", () => {
    const bar: CallItem = { ...CALL, status: "running", output: [{ type: "stderr", text: "10%\r50%\r99%" }] };
    expect(liveCall(bar, look, 0, 3)).toEqual(["⠋ python, 2 lines · 3 s", "  │ 99%"]);
  });

  it("cannot speak to the terminal", () => {
    expect(lines("a\x1b[2Jb\x07\r\nc\td")).toEqual(["ab�", "c    d"]);
    const named: CallItem = { ...CALL, name: "evil\x1b[2J\ntool", code: null, args: {}, output: [] };
    expect(foldedCall(named, look)).toEqual(["✓ evil tool · ok in 1.2 s"]);
  });
});

describe("a turn's view", () => {
  const screenOf = () => {
    let text = "";
    const write = (chunk: string) => {
      text += chunk;
      return true;
    };
    const out = { columns: 60, rows: 20, write };
    return { screen: new Screen(out as never), text: () => stripVTControlCharacters(text), raw: () => text };
  };

  it("lets stand what has ended, in order, and says when an answer begins anew", () => {
    const { screen, text } = screenOf();
    const view = new TurnView({ screen, style: plain }, newLook(true), EMPTY_CHAT);
    onTestFinished(() => view.end());
    const show = (items: ChatItem[]) => {
      view.show({ ...EMPTY_CHAT, items });
      view.redraw();
    };
    show([{ kind: "text", id: "a", text: "First.\n\nSecond", whole: false }]);
    expect(text()).toContain("First.");
    show([]);
    expect(text()).toContain("it begins anew");
    show([{ kind: "text", id: "b", text: "Whole.", whole: true }, CALL]);
    view.end();
    expect(text().match(/Whole\./g)).toHaveLength(1);
    expect(text()).toMatch(/Whole\.[\s\S]*✓ python, 2 lines/);
  });

  it("writes nothing when nothing changes", () => {
    const { screen, raw } = screenOf();
    screen.update(["stays"], ["live"]);
    const before = raw();
    screen.update([], ["live"]);
    expect(raw()).toBe(before);
    screen.update([], ["other"]);
    expect(raw().slice(before.length)).toMatch(/^\x1b\[\?2026h.*\x1b\[1A\rother\x1b\[K\n\x1b\[J/s);
  });
});

describe("what a chat remembers and says", () => {
  it("the last thread of each server and key, and of no other", () => {
    const folder = mkdtempSync(join(tmpdir(), "sandbar-last-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const at = (url: string, key: string) => new LastThread(url, key, join(folder, "deep/chat.json"));
    at("http://a", "k").set("t1");
    at("http://b", "k").set("t2");
    expect(at("http://a", "k").get()).toBe("t1");
    expect(at("http://a", "other").get()).toBeNull();
  });

  it.each([
    ["a,b\n1,2\n", "stdin.csv"],
    ["a\tb\n", "stdin.tsv"],
    ['{"a": 1}', "stdin.json"],
    ['{"a":1}\n{"a":2}\n', "stdin.jsonl"],
    ["Dear all, it rains.\n", "stdin.txt"],
    ["PAR1\0", "stdin.parquet"],
    ["\0\x01", "stdin.bin"],
  ])("%j on standard input is %s", (text, name) => expect(nameOfInput(Buffer.from(text))).toBe(name));

  it("a question names its files last", () => {
    expect(withAttachments("Why?", [{ path: "/session/a.csv", size: 1500 }])).toBe(
      "Why?\n\nAttached files:\n- /session/a.csv (1.5 kB)",
    );
  });

  it("a transcript whose fences hold, and a report for programs", () => {
    const items: ChatItem[] = [
      { kind: "user", id: "q", text: "Why?", pictures: [] },
      { ...CALL, code: "print('```')", output: [{ type: "stdout", text: "```\n" }, DRAWN] },
      { kind: "text", id: "t", text: "So.", whole: true },
    ];
    const files = new Map([["/p", "image-1.png"]]);
    const text = transcript(items, "python", files);
    expect(text).toContain("````python\nprint('```')\n````");
    expect(text).toContain("![](<image-1.png>)");
    const run = { run_id: "r", thread_id: "t", status: "success" } as RunRecord;
    expect(reportOf(run, { ...EMPTY_CHAT, items }, 0, new Map())).toMatchObject({
      status: "answered",
      answer: "So.",
      tool_calls: [{ code: "print('```')", output: "```\n", status: "ok" }],
    });
    const waits = { ...EMPTY_CHAT, items, questions: [{ name: "terminal", args: {} }] };
    expect(reportOf(run, waits, 0, new Map()).status).toBe("waiting");
    expect(reportOf({ ...run, status: "interrupted" }, { ...EMPTY_CHAT, items }, 0, new Map()).status).toBe(
      "stopped",
    );
  });

  it("pictures are shown only where the terminal can", () => {
    const png = Buffer.from("\x89PNG0000", "latin1");
    expect(inlinePicture(png, { TERM: "xterm" })).toBeNull();
    expect(inlinePicture(png, { TERM: "xterm-kitty" })).toMatch(/^\x1b_Gf=100,a=T,m=0;/);
    expect(inlinePicture(png, { TERM_PROGRAM: "iTerm.app" })).toMatch(/^\x1b]1337;File=inline=1/);
    expect(inlinePicture(png, { TERM: "xterm-kitty", TMUX: "1" })).toBeNull();
  });
});
