/** @module What a terminal's tab is called, and how its end is told. */
import type { ProcessRecord, TerminalExit } from "@sandbar/sdk";
import { SHELL } from "../../api/shell-command.ts";

/** What the program calls itself, else the command, else just a terminal. */
export function tabName(process: Pick<ProcessRecord, "command">, number: number, title?: string): string {
  if (title?.trim()) return title.trim();
  if (process.command === SHELL) return `Terminal ${number}`;
  return process.command.split("\n")[0]!.trim() || `Terminal ${number}`;
}

export function exitWords({ exit_code, signal }: TerminalExit): string {
  if (signal) return `Ended by ${signal}.`;
  return exit_code === 0 ? "Ended." : `Ended with exit code ${exit_code}.`;
}
