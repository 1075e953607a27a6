/** @module Structured logs on stderr; stdout belongs to the commands' answers. */
import { AsyncLocalStorage } from "node:async_hooks";
import pino from "pino";

export type Log = pino.Logger;

/** The request of the control plane's that is being worked for. */
const request = new AsyncLocalStorage<string | undefined>();

export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: { pid: process.pid },
      mixin: () => {
        const id = request.getStore();
        return id === undefined ? {} : { request: id };
      },
    },
    pino.destination({ dest: 2, sync: true }),
  );
}

/** What this work logs, now and later, has the id of the request that it is for. Not for what outlives the request. */
export function forRequest<T>(id: string | undefined, work: () => T): T {
  return id === undefined ? work() : request.run(id, work);
}
