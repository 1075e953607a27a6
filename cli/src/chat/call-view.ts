/** @module A call of a tool as a terminal shows it: folded when it has ended, its last lines while it runs, or all of it. */
import type { CallItem, CallOutput } from "@sandbar/sdk";
import { size } from "../terminal/print.ts";
import { lines, plain, type Style } from "../terminal/style.ts";
import { highlight } from "./highlight.ts";
import type { PictureNote } from "./pictures.ts";

const LIVE_LINES = 6;
const FOLDED_LINES = 3;
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

export interface CallLook {
  readonly style: Style;
  /** By which `/expand` knows it. */
  readonly number: number;
  readonly expands: boolean;
  /** The sandbox's own language. */
  readonly runtime: string;
  /** Where pictures were saved, by their links. */
  readonly saved: ReadonlyMap<string, PictureNote>;
}

export const isOpen = ({ status }: Pick<CallItem, "status">): boolean =>
  ["writing", "waiting", "running"].includes(status);

/** The model's words: they may not speak to the terminal. */
function languageOf({ name, language }: CallItem, runtime: string): string {
  if (name === "terminal") return "bash";
  return lines(name === "code_sandbox" ? (language ?? runtime) : name.replaceAll("_", " ")).join(" ");
}

/** `python, 6 lines`. */
export function titleOf(call: CallItem, runtime: string): string {
  const language = languageOf(call, runtime);
  if (call.code === null)
    return Object.keys(call.args).length === 0
      ? language
      : `${language} ${lines(JSON.stringify(call.args)).join("")}`;
  const [first = "", ...rest] = lines(call.code.trimEnd());
  return rest.length === 0 ? `${language}: ${first}` : `${language}, ${rest.length + 1} lines`;
}

/** While it is written and runs: the end of what there is. */
export function liveCall(
  call: CallItem,
  { style, runtime }: CallLook,
  frame: number,
  seconds: number,
): string[] {
  const spin = style("cyan", SPINNER[frame % SPINNER.length]!);
  const doing = call.status === "running" ? ` · ${seconds} s` : call.status === "writing" ? " · writing" : "";
  const body = call.status === "writing" ? lines(call.code ?? "") : outputLines(call);
  const shown = body.slice(-LIVE_LINES).map((line) => style("dim", `  │ ${line}`));
  return [`${spin} ${titleOf(call, runtime)}${style("dim", doing)}`, ...shown];
}

/** When it has ended. */
export function foldedCall(call: CallItem, look: CallLook): string[] {
  const { style, number, runtime } = look;
  const output = outputLines(call);
  const took = call.durationMs === null ? "" : ` in ${seconds(call.durationMs)}`;
  const failed = call.status !== "ok";
  const facts = [
    `${failed ? call.status : "ok"}${took}`,
    ...(output.length > 0 ? [`${output.length} ${output.length === 1 ? "line" : "lines"} of output`] : []),
    ...(look.expands && hidden(call, output) ? [`/expand ${number}`] : []),
  ];
  const mark = failed ? style("red", "✗") : style("green", "✓");
  return [
    `${mark} ${titleOf(call, runtime)}${style("dim", ` · ${facts.join(" · ")}`)}`,
    ...output.slice(-FOLDED_LINES).map((line) => `  ${style("dim", `│ ${line}`)}`),
    ...kept(call, look),
  ];
}

const hidden = (call: CallItem, output: string[]) =>
  output.length > FOLDED_LINES || lines((call.code ?? "").trimEnd()).length > 1;

/** All of it. */
export function wholeCall(call: CallItem, look: CallLook): string[] {
  const { style, runtime } = look;
  const code = call.code === null ? [] : lines(call.code.trimEnd());
  return [
    style("bold", titleOf(call, runtime)),
    ...code.map((line) => `    ${highlight(line, languageOf(call, runtime), style)}`),
    ...(code.length > 0 ? [""] : []),
    ...outputLines(call).map((line) => `  ${style("dim", "│")} ${line}`),
    ...kept(call, look),
  ];
}

function kept({ output, artifacts }: CallItem, { saved, style }: CallLook): string[] {
  const pictures = output.flatMap((part) => ("url" in part && part.url ? [saved.get(part.url)] : []));
  return [
    ...pictures.filter((picture) => picture !== undefined).map(({ note }) => `  ${style("dim", note)}`),
    ...artifacts.map(({ id, name, size: bytes, url }) => {
      const shown = lines(name).join("");
      // The link is long: where there are colours, the name is one.
      const [label, more] = style === plain ? [shown, url] : [`\x1b]8;;${url}\x07${shown}\x1b]8;;\x07`, id];
      return `  ${style("dim", "artifact")} ${label} ${style("dim", `(${size(bytes)}) ${more}`)}`;
    }),
  ];
}

export function outputLines({ output }: Pick<CallItem, "output">): string[] {
  const text = output.map(outputText).join("").trimEnd();
  return text === "" ? [] : lines(text);
}

/** What a part of the output says in words. */
export function outputText(part: CallOutput): string {
  switch (part.type) {
    case "stdout":
    case "stderr":
      return part.text;
    case "error": {
      const { name, value, traceback } = part.error;
      return `${(traceback || `${name}: ${value}`).trimEnd()}\n`;
    }
    case "answer":
      return `${part.text.trimEnd()}\n`;
    case "result": {
      if (part.url) return "";
      const text = part.data["text/plain"] ?? part.data["application/json"];
      if (text === undefined) return "";
      return `${typeof text === "string" ? text : JSON.stringify(text)}\n`;
    }
    default:
      return "";
  }
}

export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
