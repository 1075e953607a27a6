/** @module The human's word on code before it runs: yes, no with a reason, or another version of it. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ActionRequest, Decision } from "@sandbar/sdk";
import type { Prompt } from "../terminal/prompt.ts";
import { lines, type Style } from "../terminal/style.ts";
import { highlight } from "./highlight.ts";

const ARGUMENTS = ["code", "command"];
const EXTENSIONS: Readonly<Record<string, string>> = { code: "py", command: "sh" };

/** Null when the user would rather not say now: the question stays. */
export async function decisionOn(
  request: ActionRequest,
  prompt: Prompt,
  style: Style,
  approveAll: () => void,
): Promise<Decision | null> {
  const name = ARGUMENTS.find((argument) => typeof request.args[argument] === "string");
  process.stdout.write(
    `${style("bold", `The agent wants to run ${name === "command" ? "a command" : "code"}:`)}\n`,
  );
  process.stdout.write(`${shown(request, name, style)}\n\n`);
  process.stdout.write(style("bold", `Run it? [y]es, [n]o, ${name ? "[e]dit, " : ""}[a]lways in this chat `));
  const key = await prompt.key(`yna\x03${name ? "e" : ""}`);
  process.stdout.write(key === "\x03" ? "later\n" : `${key}\n`);
  if (key === "\x03") return null;
  if (key === "a") approveAll();
  if (key === "y" || key === "a") return { type: "approve" };
  if (key === "n") {
    const message = (await prompt.line("Why not (Enter for no reason)? ")).trim();
    return { type: "reject", ...(message ? { message } : {}) };
  }
  const edited = await prompt.away(() => inEditor(String(request.args[name!]), EXTENSIONS[name!]!));
  if (edited === null) {
    process.stdout.write("the editor ended with an error; nothing is changed\n");
    return decisionOn(request, prompt, style, approveAll);
  }
  return { type: "edit", editedAction: { name: request.name, args: { ...request.args, [name!]: edited } } };
}

function shown(request: ActionRequest, name: string | undefined, style: Style): string {
  if (!name) return `    ${lines(`${request.name} ${JSON.stringify(request.args)}`).join("")}`;
  const language = name === "command" ? "bash" : String(request.args.language ?? "python");
  return lines(String(request.args[name]).trimEnd())
    .map((line) => `    ${highlight(line, language, style)}`)
    .join("\n");
}

/** Null when the editor says that it failed. */
async function inEditor(text: string, extension: string): Promise<string | null> {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-edit-"));
  const file = join(folder, `code.${extension}`);
  try {
    writeFileSync(file, text);
    const editor = process.env.VISUAL || process.env.EDITOR || "vi";
    // As a shell would: editors are given with their options.
    const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    const code = await new Promise<number | null>((resolve) => {
      child.once("exit", resolve);
      child.once("error", () => resolve(1));
    });
    return code === 0 ? readFileSync(file, "utf8") : null;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
