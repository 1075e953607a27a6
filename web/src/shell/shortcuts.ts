/** @module Runs commands by their shortcuts. */
import { useEffect } from "react";
import { allCommands } from "./commands.ts";

const SEQUENCE_MS = 900;
const MAC = /Mac|iPhone|iPad/.test(navigator.platform);

/** One key press as shortcuts write it. Shift is part of a printed character ("?"), and named for the other keys. */
export function pressOf(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
  mac = MAC,
): string {
  const { key } = event;
  const printed = key.length === 1;
  return [
    (mac ? event.metaKey : event.ctrlKey) && "Mod",
    event.altKey && "Alt",
    event.shiftKey && (!printed || (mac ? event.metaKey : event.ctrlKey)) && "Shift",
    printed && (event.ctrlKey || event.metaKey) ? key.toUpperCase() : key,
  ]
    .filter(Boolean)
    .join("+");
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable ||
      target.closest("input, textarea, select, .cm-editor, .xterm, [role=menu]") !== null)
  );
}

export function useShortcuts(): void {
  useEffect(() => {
    let before = "";
    let since = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const press = pressOf(event);
      if (isTyping(event.target) && !press.startsWith("Mod+")) return;
      const sequence = event.timeStamp - since < SEQUENCE_MS ? `${before} ${press}` : press;
      const own = allCommands().filter(({ handledElsewhere }) => !handledElsewhere);
      // The last one registered is the innermost: a room's own meaning goes before the shell's.
      const command =
        own.findLast(({ shortcut }) => shortcut === sequence) ??
        own.findLast(({ shortcut }) => shortcut === press);
      if (!/^(Shift|Control|Alt|Meta)$/.test(event.key)) {
        before = press;
        since = event.timeStamp;
      }
      if (!command) return;
      before = "";
      event.preventDefault();
      command.run();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
