/**
 * The control plane's questions about processes, terminals and ports. The guest keeps the processes and their output,
 * so nothing here outlives a question and a restart of the daemon loses nothing.
 *
 * @module
 */
import type { CallHandlers, MethodsOf } from "@sandbar/shared";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import type { Tunnels } from "../guest/tunnels.ts";
import type { Log } from "../host/log.ts";
import { type PortGuest, requestPort } from "./ports.ts";
import { openTerminal } from "./terminal.ts";

/** More than the longest wait that the guest grants, so that the guest's answer comes first. */
const OUTPUT_ANSWER_MS = 35_000;

export interface ProcessGuest extends PortGuest {
  /** The session's variables, which every process gets. */
  readonly env: Record<string, string>;
}

type Methods = MethodsOf<"processes" | "terminal" | "tunnels" | "ports">;

export class ProcessCalls {
  readonly #tunnels: Tunnels;
  readonly #http: ControlPlaneHttp;
  readonly #log: Log;

  constructor(tunnels: Tunnels, http: ControlPlaneHttp, log: Log) {
    this.#tunnels = tunnels;
    this.#http = http;
    this.#log = log;
  }

  readonly calls: CallHandlers<Methods, [session: ProcessGuest]> = {
    "processes.start": (session, params) =>
      session.call("ps.start", { ...params, env: { ...session.env, ...params.env } }),
    "processes.get": (session, params) => session.call("ps.get", params),
    "processes.list": (session, params) => session.call("ps.list", params),
    "processes.remove": (session, params) => session.call("ps.remove", params),
    "processes.stdin": (session, params) => session.call("ps.stdin", params),
    "processes.signal": (session, params) => session.call("ps.signal", params),
    "processes.resize": (session, params) => session.call("ps.resize", params),
    "processes.output": (session, params) => session.call("ps.output", params, OUTPUT_ANSWER_MS),
    "terminal.open": (session, params) => openTerminal(session, this.#tunnels, params, this.#log),
    "tunnels.close": async (_session, { grant }) => this.#tunnels.close(grant),
    "ports.list": (session, params) => session.call("ports.list", params),
    "ports.request": (session, request) =>
      requestPort(session, this.#tunnels, this.#http, request, this.#log),
  };
}
