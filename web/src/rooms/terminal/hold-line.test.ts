import { SandbarError, type Session, type Terminal, type TerminalExit } from "@sandbar/sdk";
import { expect, it } from "vitest";
import { holdLine, type LineState } from "./hold-line.ts";

const size = () => ({ cols: 80, rows: 24 });
/** A session whose terminals end one after the other as told. */
const ending = (...ends: (TerminalExit | null | SandbarError)[]) => {
  const terminal = async () => {
    const next = ends.shift()!;
    if (next instanceof SandbarError) throw next;
    return { closed: Promise.resolve(next), close() {} } as unknown as Terminal;
  };
  return { terminal } as unknown as Session;
};
const states = async (session: Session) => {
  const seen: LineState[] = [];
  const onState = (state: LineState) => void seen.push(state);
  await holdLine(session, "prc_x", { size, onLine() {}, onState }, new AbortController().signal);
  return seen;
};

it("opens the line again after a cut, until the process ends", async () => {
  const exit = { exit_code: 0, signal: null };
  const away = new SandbarError({ code: "HOST_UNREACHABLE", detail: "", status: 503, retryable: true });
  expect((await states(ending(null, away, exit))).map(({ kind }) => kind)).toEqual([
    "connecting",
    "open",
    "cut",
    "cut",
    "open",
    "exited",
  ]);
});

it("gives up where trying again cannot help", async () => {
  const error = new SandbarError({ code: "NOT_FOUND", detail: "", status: 404 });
  expect((await states(ending(error))).at(-1)).toEqual({ kind: "failed", error });
});
