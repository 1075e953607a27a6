/** @module Why a request to the proxy goes nowhere, as the code in the sandbox is told. */
import { STATUS_CODES } from "node:http";

export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  /** A breach of the rules, not a server that is out of reach. */
  get denied(): boolean {
    return this.status === 403;
  }
}

/** A whole answer, for a client that speaks HTTP up to here. */
export function answerOf({ status, message }: Refusal): string {
  const body = Buffer.from(`sandbar: ${message}\n`);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${body.length}`,
    "Connection: close",
    "",
    body.toString(),
  ].join("\r\n");
}
