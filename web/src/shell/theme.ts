/** @module The theme: the system's unless somebody chose one. */
import { createStore, useStore } from "../api/store.ts";

export type Theme = "system" | "light" | "dark";
const NAME = "sandbar.theme";

const store = createStore<Theme>((document.documentElement.dataset.theme as Theme | undefined) ?? "system");

export const useTheme = (): Theme => useStore(store);

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, theme);
  } catch {
    // Then it holds until the page is left.
  }
  store.set(theme);
}

export function nextTheme(theme: Theme): Theme {
  return ({ system: "light", light: "dark", dark: "system" } as const)[theme];
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const systemDark = createStore(dark.matches);
dark.addEventListener("change", () => systemDark.set(dark.matches));

/** What is shown: for what is drawn without CSS, such as terminals and charts. */
export function useDark(): boolean {
  const theme = useTheme();
  const system = useStore(systemDark);
  return theme === "dark" || (theme === "system" && system);
}
