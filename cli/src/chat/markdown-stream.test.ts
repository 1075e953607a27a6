import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { coloured, plain } from "../terminal/style.ts";
import { blocksOf, renderBlock } from "./markdown.ts";
import { MarkdownStream } from "./markdown-stream.ts";

const TEXT = `# Title

A **bold** word and \`code\`.

- one
- two
  - nested

| city | rain |
|---|---:|
| Oslo | 80 |

\`\`\`python
x = 1

y = 2
\`\`\`

The end.`;

const render = (text: string, columns = 60, style = plain) =>
  blocksOf(text).flatMap((token) => renderBlock(token, columns, style));

describe("Markdown in a terminal", () => {
  it("is the same whether it comes in one piece or in many", () => {
    const whole = new MarkdownStream().take(TEXT, true, 60, plain).done;
    for (const step of [1, 7]) {
      const stream = new MarkdownStream();
      const lines: string[] = [];
      for (let end = step; end < TEXT.length; end += step)
        lines.push(...stream.take(TEXT.slice(0, end), false, 60, plain).done);
      lines.push(...stream.take(TEXT, true, 60, plain).done);
      expect(lines).toEqual(whole);
    }
    expect(whole).toContain("    y = 2");
  });

  it("stands only when the next block has begun", () => {
    const stream = new MarkdownStream();
    expect(stream.take("one\n\n", false, 60, plain)).toEqual({ done: [], live: ["one", ""] });
    expect(stream.begun).toBe(false);
    expect(stream.take("one\n\ntw", false, 60, plain)).toEqual({ done: ["one", ""], live: ["tw", ""] });
    expect(stream.take("one\n\ntwo", true, 60, plain)).toEqual({ done: ["two", ""], live: [] });
  });

  it("keeps its marks without colours, and loses them with", () => {
    expect(render("A **bold** [link](https://x.org)")).toEqual(["A **bold** [link](https://x.org)"]);
    const [line] = render("A **bold** [link](https://x.org)", 60, coloured);
    expect(line).toContain("\x1b[1mbold");
    expect(stripVTControlCharacters(line!)).toBe("A bold link (https://x.org)");
  });

  it("wraps with its indent, and makes tables fit", () => {
    expect(render("1. aaaa bbbb cccc dddd eeee", 20)).toEqual(["1. aaaa bbbb cccc", "   dddd eeee"]);
    const rows = render("| a | b |\n|---|--:|\n| a long cell that is wrapped | 1 |", 20);
    expect(Math.max(...rows.map(({ length }) => length))).toBeLessThanOrEqual(20);
    expect(rows.join("\n")).toContain("wrapped");
    expect(render("| a | b |\n|---|--:|\n| 北 | 1 |\n| x | 22 |")).toEqual([
      "a    b",
      "──  ──",
      "北   1",
      "x   22",
    ]);
  });
});
