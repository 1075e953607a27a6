import type { Log } from "./run-command.ts";

const QUIET_MS = 10_000;

/** One line when the work begins, one per step, one when done; in a long silence, what it is at. */
export function startProgress(title: string, log: Log) {
  const began = Date.now();
  let spoke = began;
  let lately = "";
  const say = (text: string) => {
    spoke = Date.now();
    log(`${title}: ${text}`);
  };
  const elapsed = () => `${((Date.now() - began) / 1000).toFixed(1)} s`;
  const ticker = setInterval(() => {
    if (Date.now() - spoke >= QUIET_MS) say(`${elapsed()} … ${lately || "still at it"}`);
  }, 1_000);
  ticker.unref();
  log(`${title} …`);
  return {
    step: (text: string) => {
      lately = "";
      say(`${elapsed()}  ${text}`);
    },
    detail: (text: string) => {
      lately = text.trim().slice(0, 90);
    },
    done: () => say(`done in ${elapsed()}`),
    stop: () => clearInterval(ticker),
  };
}

export type Progress = ReturnType<typeof startProgress>;
