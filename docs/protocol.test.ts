import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import {
  CommandSchema,
  GUEST_ANSWERS,
  GuestMessageSchema,
  HOST_CALLS,
  HostFrameSchema,
  ServerFrameSchema,
} from "../shared/src/index.ts";

const page = readFileSync(new URL("protocol.md", import.meta.url), "utf8");
const parts = page.split(/^## /m);
const part = (title: string) => parts.find((text) => text.startsWith(title))!;

/** The first words of all code, where `files.stat` `.list` is short for `files.stat` `files.list`. */
function names(text: string): Set<string> {
  const found = new Set<string>();
  let group = "";
  for (const [, word] of text.matchAll(/`([\w.]+)[^`\n]*`/g)) {
    const name = word!.startsWith(".") ? group + word : word!;
    if (name.includes(".")) group = name.slice(0, name.lastIndexOf("."));
    found.add(name);
  }
  return found;
}

const literals = (options: readonly { shape: Record<string, unknown> }[], key: "t" | "type") =>
  options.map(({ shape }) => (shape[key] as { value: string }).value);

it.each([
  ["frames of the server", "The link", literals(ServerFrameSchema.options, "t")],
  ["frames of the daemon", "The link", literals(HostFrameSchema.options, "t")],
  ["commands", "The link", literals(CommandSchema.options, "type")],
  ["calls to a host", "The link", Object.keys(HOST_CALLS)],
  ["messages of the guest", "The guest's socket", literals(GuestMessageSchema.options, "type")],
  ["calls to a guest", "The guest's socket", Object.keys(GUEST_ANSWERS)],
])("protocol.md has all %s", (_, title, wanted) => {
  const named = names(part(title));
  expect(wanted.filter((name) => !named.has(name))).toEqual([]);
});
