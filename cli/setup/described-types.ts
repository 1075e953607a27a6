/** @module Puts the note of every field of the API before it in the packages' type declarations, for editors to show. */
import { readFileSync, writeFileSync } from "node:fs";
import { noteOf } from "../../shared/src/fields/note-of.ts";

/** Parts of the API as their notes call them, by the file that has their shapes. */
const PART: Record<string, string> = {
  "api-key": "keys",
  artifact: "artifacts",
  audit: "operations",
  console: "console",
  context: "contexts",
  dataset: "datasets",
  "dataset-source": "datasets",
  execution: "executions",
  export: "artifacts",
  file: "files",
  host: "hosts",
  policy: "policies",
  port: "processes",
  process: "processes",
  session: "sessions",
  settings: "settings",
  "usage-series": "operations",
  volume: "volumes",
};

const DECLARED = /^export declare const (\w+?)(?:Schema)?: z\.Zod/;
const FIELD = /^(\s+)(\w+): z\./;

export function describeTypes(file: string): void {
  const part = PART[/shared\/src\/api\/([\w-]+)\.d\.ts$/.exec(file)?.[1] ?? ""];
  if (part === undefined) return;
  writeFileSync(file, withNotes(readFileSync(file, "utf8"), part));
}

export function withNotes(declarations: string, part: string): string {
  let resource = "";
  const around: { indent: number; field: string }[] = [];
  const lines: string[] = [];
  for (const line of declarations.split("\n")) {
    resource = DECLARED.exec(line)?.[1] ?? resource;
    const [, space = "", field] = FIELD.exec(line) ?? [];
    if (field !== undefined) {
      while (around.length > 0 && around.at(-1)!.indent >= space.length) around.pop();
      const owners = [...around.map((one) => one.field).reverse(), resource, part];
      const note = noteOf(owners, field);
      if (note && !lines.at(-1)?.trimEnd().endsWith("*/")) lines.push(`${space}/** ${commentOf(note)} */`);
      if (line.trimEnd().endsWith("{") && field !== "data") around.push({ indent: space.length, field });
    }
    lines.push(line);
  }
  return lines.join("\n");
}

function commentOf([description, example]: readonly [string, unknown?]): string {
  const shown = example === undefined ? "" : ` Example: \`${JSON.stringify(example)}\``;
  return `${description}${shown}`.replaceAll("*/", "* /");
}
