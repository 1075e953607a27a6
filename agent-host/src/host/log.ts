/** @module Structured logs on stderr; stdout belongs to the commands' answers. */
import pino from "pino";

export type Log = pino.Logger;

export function createLog(level: string): Log {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
}
