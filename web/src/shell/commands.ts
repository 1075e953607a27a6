/** @module What can be done from where one is: the palette lists it, shortcuts run it, the sheet of shortcuts explains it. */
import { type ReactNode, useEffect, useRef } from "react";
import { createStore, useStore } from "../api/store.ts";

export interface Command {
  id: string;
  title: string;
  /** The heading it stands under: "Go to", "Session", … */
  group: string;
  icon?: ReactNode;
  /** "Mod+K", "Shift+Enter", "?", or keys one after the other: "g s". Mod is Ctrl, or ⌘ on a Mac. */
  shortcut?: string;
  /** Only shown in the sheet: an editor or a list handles the keys itself. */
  handledElsewhere?: boolean;
  keywords?: string;
  run: () => void;
}

const registered = createStore<readonly (readonly Command[])[]>([]);

/** While the component is there, these can be done. The newest array is used, so closures stay fresh. */
export function useCommands(commands: readonly Command[]): void {
  const latest = useRef(commands);
  latest.current = commands;
  const shape = commands.map(({ id, title, shortcut }) => `${id} ${title} ${shortcut}`).join("\n");
  useEffect(() => {
    const stable = latest.current.map((command, index) => ({
      ...command,
      run: () => latest.current[index]?.run(),
    }));
    registered.set([...registered.get(), stable]);
    return () => registered.set(registered.get().filter((group) => group !== stable));
  }, [shape]);
}

export function useAllCommands(): Command[] {
  return useStore(registered).flat();
}

export const allCommands = (): Command[] => registered.get().flat();
