/**
 * The control plane's questions about processes, terminals and ports. The guest keeps the processes and their output,
 * so nothing here outlives a question and a restart of the daemon loses nothing.
 *
 * @module
 */
import {
  type GuestProcess,
  GuestProcessListSchema,
  GuestProcessSchema,
  PortRequestSchema,
  type ProcessOutput,
  ProcessOutputSchema,
} from "@sandbar/shared";
import { z } from "zod";
import type { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import { readAnswer } from "../guest/guest-calls.ts";
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

type Params = Record<string, unknown>;

const TerminalSchema = z.object({
  grant: z.string(),
  process: z.string(),
  after: z.number().int().nonnegative(),
});

export class ProcessCalls {
  readonly #tunnels: Tunnels;
  readonly #http: ControlPlaneHttp;
  readonly #log: Log;

  constructor(tunnels: Tunnels, http: ControlPlaneHttp, log: Log) {
    this.#tunnels = tunnels;
    this.#http = http;
    this.#log = log;
  }

  /** Undefined when the method is none of ours. */
  handle(session: ProcessGuest, method: string, params: Params): Promise<unknown> | undefined {
    switch (method) {
      case "processes.start": {
        const env = { ...session.env, ...(params.env as Record<string, string> | undefined) };
        return session.call("ps.start", { ...params, env }).then(described);
      }
      case "processes.get":
        return session.call("ps.get", params).then(described);
      case "processes.list":
        return session.call("ps.list", params).then((answer) => readAnswer(GuestProcessListSchema, answer));
      case "processes.remove":
        return session.call("ps.remove", params).then(nothing);
      case "processes.stdin":
        return session.call("ps.stdin", params).then(nothing);
      case "processes.signal":
        return session.call("ps.signal", params).then(nothing);
      case "processes.resize":
        return session.call("ps.resize", params).then(described);
      case "processes.output":
        return session.call("ps.output", params, OUTPUT_ANSWER_MS).then(output);
      case "terminal.open":
        return openTerminal(session, this.#tunnels, TerminalSchema.parse(params), this.#log);
      case "tunnels.close":
        this.#tunnels.close(z.string().parse(params.grant));
        return Promise.resolve({});
      case "ports.request":
        return requestPort(session, this.#tunnels, this.#http, PortRequestSchema.parse(params), this.#log);
      default:
        return undefined;
    }
  }
}

const described = (answer: unknown): GuestProcess => readAnswer(GuestProcessSchema, answer);
const output = (answer: unknown): ProcessOutput => readAnswer(ProcessOutputSchema, answer);
const nothing = (): Params => ({});
