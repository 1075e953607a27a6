/** @module How text is coloured: not at all where nobody looks, or where colours are not wanted. */
import { stripVTControlCharacters, styleText } from "node:util";

export type Format = Parameters<typeof styleText>[0];
export type Style = (format: Format, text: string) => string;

export const plain: Style = (_format, text) => text;
export const coloured: Style = (format, text) => styleText(format, text, { validateStream: false });

export function hasColours(stream: NodeJS.WriteStream): boolean {
  // Node knows FORCE_COLOR, and that other systems' consoles have their own ways.
  return stream.isTTY === true && !process.env.NO_COLOR && stream.hasColors();
}

export const styleOf = (stream: NodeJS.WriteStream): Style => (hasColours(stream) ? coloured : plain);

/** Somebody else's text in lines: it may not speak to the terminal, and a progress bar is what it says last. */
export function lines(text: string): string[] {
  return stripVTControlCharacters(text)
    .replace(/\r+\n/g, "\n")
    .split("\n")
    .map((line) =>
      line
        .replace(/\r+$/, "")
        .slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1)
        .replaceAll("\t", "    ")
        .replace(/[\x00-\x1f\x7f-\x9f]/g, "�"),
    );
}

/** The same as one text, for prose. */
export const safe = (text: string): string => lines(text).join("\n");

/** The same where there is room for one line. */
export const oneLine = (text: string): string => lines(text).join(" ").trim();
