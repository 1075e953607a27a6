/** @module xterm.js as the console wants it: in the page's colours, allowed by its policy. Loaded when first needed. */
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { type ITerminalOptions, type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { cspNonce } from "../api/csp-nonce.ts";

export interface Xterm {
  term: Terminal;
  fit: FitAddon;
  search: SearchAddon;
}

export function createXterm(host: HTMLElement, options: ITerminalOptions): Xterm {
  const term = new Terminal({
    fontFamily: '"JetBrains Mono Variable", ui-monospace, monospace',
    fontSize: 13,
    lineHeight: 1.25,
    scrollback: 10_000,
    // Programs choose colours for terminals that they do not know.
    minimumContrastRatio: 4.5,
    allowProposedApi: true,
    ...options,
  });
  const fit = new FitAddon();
  const search = new SearchAddon();
  term.loadAddon(fit);
  term.loadAddon(search);
  term.loadAddon(new WebLinksAddon((_event, uri) => void window.open(uri, "_blank", "noopener,noreferrer")));
  withNonce(() => term.open(host));
  return { term, fit, search };
}

/** xterm makes style elements when it opens, which the policy knows only by the nonce, and has no option for one. */
function withNonce(open: () => void): void {
  const nonce = cspNonce();
  document.createElement = (tag: string, options?: ElementCreationOptions) => {
    const element = Document.prototype.createElement.call(document, tag, options);
    if (tag === "style") element.nonce = nonce;
    return element;
  };
  try {
    open();
  } finally {
    // The prototype's own is seen again.
    Reflect.deleteProperty(document, "createElement");
  }
}

const LIGHT_ANSI = {
  black: "#1b1c1d",
  red: "#b3261e",
  green: "#1a7a3c",
  yellow: "#8d5a00",
  blue: "#1f5fb8",
  magenta: "#8a3ea8",
  cyan: "#0f766e",
  white: "#5a5b5c",
  brightBlack: "#6b6c6c",
  brightRed: "#c9362d",
  brightGreen: "#1f8a46",
  brightYellow: "#9c6500",
  brightBlue: "#2a6fd0",
  brightMagenta: "#9b4dbb",
  brightCyan: "#13857b",
  brightWhite: "#3a3b3c",
};

const DARK_ANSI = {
  black: "#3d4248",
  red: "#f2857d",
  green: "#62c583",
  yellow: "#e0ae4f",
  blue: "#7db3f5",
  magenta: "#cf9be6",
  cyan: "#5cc9bb",
  white: "#d4d6d7",
  brightBlack: "#8b9095",
  brightRed: "#f7a49e",
  brightGreen: "#86d6a0",
  brightYellow: "#ecc67c",
  brightBlue: "#a3caf8",
  brightMagenta: "#dfb8ef",
  brightCyan: "#86d9ce",
  brightWhite: "#f2f3f3",
};

/** The page's tokens, which xterm needs as plain colours. */
export function xtermTheme(dark: boolean): ITheme {
  return {
    background: dark ? "#0c0e0f" : "#ffffff",
    foreground: dark ? "#e9eaea" : "#1b1c1d",
    cursor: dark ? "#5cc9bb" : "#0f766e",
    cursorAccent: dark ? "#0c0e0f" : "#ffffff",
    selectionBackground: dark ? "#28504b" : "#bfe0db",
    ...(dark ? DARK_ANSI : LIGHT_ANSI),
  };
}

export const searchColours = (dark: boolean) => ({
  matchBackground: dark ? "#4a3c14" : "#fbe3ad",
  matchOverviewRuler: dark ? "#e0ae4f" : "#8d5a00",
  activeMatchBackground: dark ? "#8d6a1a" : "#f4bd4a",
  activeMatchColorOverviewRuler: dark ? "#f2857d" : "#b3261e",
});
