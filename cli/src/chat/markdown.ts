/** @module Markdown as lines of a terminal. */
import { marked, type Token, type Tokens } from "marked";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { plain, type Style } from "../terminal/style.ts";
import { highlight } from "./highlight.ts";

/** Longer lines are hard to read. */
const MAX_WIDTH = 100;
const MIN_COLUMN = 6;
const GAP = "  ";

export const blocksOf = (text: string): Token[] => marked.lexer(text, { gfm: true });

/** One block, without what separates it from the next. Text must be safe already. */
export function renderBlock(token: Token, columns: number, style: Style): string[] {
  const width = Math.max(10, Math.min(columns, MAX_WIDTH));
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading": {
      const { depth, text, tokens } = token as Tokens.Heading;
      const title = style === plain ? `${"#".repeat(depth)} ${text}` : inline(tokens, style);
      return wrap(style(depth === 1 ? ["bold", "underline"] : "bold", title), width);
    }
    case "code": {
      const { text, lang } = token as Tokens.Code;
      return highlight(text, lang || null, style)
        .split("\n")
        .map((line) => `    ${line}`);
    }
    case "blockquote":
      return nested((token as Tokens.Blockquote).tokens, width - 2, style).map(
        (line) => `${style("dim", "▎ ")}${style("italic", line)}`,
      );
    case "list":
      return list(token as Tokens.List, width, style);
    case "table":
      return table(token as Tokens.Table, columns, style);
    case "hr":
      return [style("dim", "─".repeat(Math.min(width, 40)))];
    default: {
      const { tokens, raw } = token as { tokens?: Token[]; raw: string };
      return wrap(tokens ? inline(tokens, style) : raw.trimEnd(), width);
    }
  }
}

/** Blocks with an empty line between them. */
function nested(tokens: readonly Token[], width: number, style: Style): string[] {
  return tokens
    .filter(({ type }) => type !== "space")
    .flatMap((token, index) => [...(index > 0 ? [""] : []), ...renderBlock(token, width, style)]);
}

function list({ items, ordered, start, loose }: Tokens.List, width: number, style: Style): string[] {
  return items.flatMap((item, index) => {
    const mark = ordered ? `${Number(start || 1) + index}. ` : "• ";
    const task = item.task ? (item.checked ? "☑ " : "☐ ") : "";
    const indent = " ".repeat(mark.length);
    const blocks = item.tokens.filter(({ type }) => type !== "space" && type !== "checkbox");
    const body = blocks.flatMap((token, at) => [
      ...(at > 0 && loose ? [""] : []),
      ...renderBlock(token, width - mark.length, style),
    ]);
    const [first = "", ...rest] = body;
    return [
      ...(index > 0 && loose ? [""] : []),
      `${style("dim", mark)}${task}${first}`,
      ...rest.map((line) => (line === "" ? "" : indent + line)),
    ];
  });
}

function table({ header, rows, align }: Tokens.Table, columns: number, style: Style): string[] {
  const head = header.map(({ tokens }) => style("bold", inline(tokens, style)));
  const body = rows.map((row) => row.map(({ tokens }) => inline(tokens, style)));
  const widths = fitted(
    head.map((cell, at) => Math.max(stringWidth(cell), ...body.map((row) => stringWidth(row[at] ?? "")))),
    columns,
  );
  const drawn = (cells: string[]): string[] => {
    const wrapped = widths.map((width, at) => wrap(cells[at] ?? "", width));
    const height = Math.max(...wrapped.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      widths
        .map((width, at) => padded(wrapped[at]![line] ?? "", width, align[at] ?? null))
        .join(GAP)
        .trimEnd(),
    );
  };
  const rule = style("dim", widths.map((width) => "─".repeat(width)).join(GAP));
  return [...drawn(head), rule, ...body.flatMap(drawn)];
}

/** The widest give way first. */
function fitted(wanted: number[], columns: number): number[] {
  const widths = wanted.map((width) => Math.max(1, width));
  const room = columns - GAP.length * (widths.length - 1);
  while (widths.reduce((sum, width) => sum + width, 0) > room) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest]! <= MIN_COLUMN) break;
    widths[widest]!--;
  }
  return widths;
}

function padded(text: string, width: number, align: Tokens.Table["align"][number]): string {
  const missing = Math.max(0, width - stringWidth(text));
  const before = align === "right" ? missing : align === "center" ? Math.floor(missing / 2) : 0;
  return " ".repeat(before) + text + " ".repeat(missing - before);
}

/** Without colours the marks stay: they say the same. */
function inline(tokens: readonly Token[], style: Style): string {
  return tokens.map((token) => (style === plain ? bare(token) : span(token, style))).join("");
}

function bare(token: Token): string {
  if (token.type === "br") return "\n";
  return token.raw.replaceAll("\n", " ");
}

function span(token: Token, style: Style): string {
  const inner = () => inline((token as { tokens?: Token[] }).tokens ?? [], style);
  switch (token.type) {
    case "strong":
      return style("bold", inner());
    case "em":
      return style("italic", inner());
    case "del":
      return style("strikethrough", inner());
    case "codespan":
      return style("cyan", (token as Tokens.Codespan).text);
    case "link": {
      const { href, text } = token as Tokens.Link;
      if (text === href || `mailto:${text}` === href) return style("underline", text);
      return `${style("underline", inner())} ${style("dim", `(${href})`)}`;
    }
    case "image": {
      const { href, text } = token as Tokens.Image;
      return style("dim", `[${text || "picture"}: ${href}]`);
    }
    case "br":
      return "\n";
    case "escape":
      return (token as Tokens.Escape).text;
    default: {
      const { tokens, text, raw } = token as { tokens?: Token[]; text?: string; raw: string };
      return tokens ? inner() : (text ?? raw).replaceAll("\n", " ");
    }
  }
}

const wrap = (text: string, width: number): string[] =>
  wrapAnsi(text, Math.max(1, width), { hard: true, trim: true }).split("\n");
