/** @module A signal that ended a process, in words. */
import { constants } from "node:os";

const WORDS: Record<string, string> = {
  SIGSEGV: "segmentation fault (SIGSEGV)",
  SIGABRT: "aborted (SIGABRT)",
  SIGBUS: "bus error (SIGBUS)",
  SIGFPE: "arithmetic error (SIGFPE)",
  SIGILL: "illegal instruction (SIGILL)",
  SIGKILL: "killed (SIGKILL)",
  SIGTERM: "terminated (SIGTERM)",
  SIGSYS: "forbidden system call (SIGSYS)",
};

export function signalReason(number: number): string {
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  return name ? (WORDS[name] ?? name) : `signal ${number}`;
}
