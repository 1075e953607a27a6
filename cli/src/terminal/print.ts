/** @module Tables for people, JSON for programs. */
import { stripVTControlCharacters, styleText } from "node:util";

export type Format = "table" | "json";

export interface Column<T> {
  title: string;
  value: (item: T) => string | number | null | undefined;
  right?: boolean;
}

export function printList<T>(items: T[], columns: Column<T>[], format: Format): void {
  if (format === "json") printJson(items);
  else process.stdout.write(table(items, columns));
}

export function printOne<T extends object>(item: T, format: Format): void {
  if (format === "json") {
    printJson(item);
    return;
  }
  const width = Math.max(...Object.keys(item).map((name) => name.length));
  for (const [name, value] of Object.entries(item)) {
    const text = value !== null && typeof value === "object" ? JSON.stringify(value) : String(value ?? "-");
    process.stdout.write(`${bold(name.padEnd(width))}  ${clean(text)}\n`);
  }
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function table<T>(items: T[], columns: Column<T>[]): string {
  const rows = items.map((item) => columns.map(({ value }) => clean(String(value(item) ?? "-"))));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (columns[i]!.right ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join("  ")
      .trimEnd();
  const head = line(columns.map(({ title }) => title.toUpperCase()));
  return `${[bold(head), ...rows.map(line)].join("\n")}\n`;
}

/** Names and keys are other people's text: they may not move the cursor or colour the terminal. */
export function clean(text: string): string {
  return stripVTControlCharacters(text).replace(/[\x00-\x1f\x7f-\x9f]/g, "�");
}

export function size(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return "-";
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function age(time: string | null | undefined, now = Date.now()): string {
  if (!time) return "-";
  const seconds = Math.round((now - Date.parse(time)) / 1000);
  const [amount, unit] =
    Math.abs(seconds) < 120
      ? [seconds, "s"]
      : Math.abs(seconds) < 7200
        ? [Math.round(seconds / 60), "min"]
        : Math.abs(seconds) < 172_800
          ? [Math.round(seconds / 3600), "h"]
          : [Math.round(seconds / 86_400), "d"];
  return amount < 0 ? `in ${-amount} ${unit}` : `${amount} ${unit}`;
}

export const bold = (text: string) => styleText("bold", text, { stream: process.stdout });
export const dim = (text: string) => styleText("dim", text, { stream: process.stderr });
export const red = (text: string) => styleText("red", text, { stream: process.stderr });
