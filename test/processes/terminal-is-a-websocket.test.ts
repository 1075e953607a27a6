import { setTimeout as sleep } from "node:timers/promises";
import type { Process } from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** What a page with a terminal does. */
class Terminal {
  readonly socket: WebSocket;
  readonly control: Record<string, unknown>[] = [];
  readonly closed: Promise<number>;
  output = "";

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data: Buffer, binary) => {
      if (binary) this.output += data.toString("utf8");
      else this.control.push(JSON.parse(data.toString("utf8")));
    });
    this.closed = new Promise((resolve) => socket.once("close", resolve));
  }

  type(text: string): void {
    this.socket.send(Buffer.from(text));
  }

  async shows(text: string): Promise<void> {
    await eventually(JSON.stringify(text), 10_000, () => {
      if (this.output.includes(text)) return true;
      throw new Error(JSON.stringify(this.output.slice(-500)));
    });
  }
}

describe("a terminal is a WebSocket", () => {
  const { stack, client } = useStack();
  let session: string;

  beforeAll(async () => {
    session = (await client.create()).id;
  });

  const url = (query = "", id = session) =>
    `${stack.url.replace("http", "ws")}/v1/sessions/${id}/terminal${query}`;
  const bearer = (key = stack.key) => ({ headers: { authorization: `Bearer ${key}` } });

  async function open(query = "", protocols: string[] = [], options = bearer()): Promise<Terminal> {
    const socket = new WebSocket(url(query), protocols, options);
    const terminal = new Terminal(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    await eventually("its process is named", 5000, () => terminal.control.length > 0);
    return terminal;
  }

  /** The status of an upgrade that is refused. */
  const refusal = (at: string, protocols: string[], options: WebSocket.ClientOptions) =>
    new Promise<number>((resolve, reject) => {
      const socket = new WebSocket(at, protocols, options);
      socket.once("unexpected-response", (request, response) => {
        request.destroy();
        resolve(response.statusCode ?? 0);
      });
      socket.once("open", () => reject(new Error("it was opened")));
      socket.once("error", () => {});
    });

  it("types, sees, resizes, and hears the end", async () => {
    const terminal = await open("?cols=90&rows=30");
    expect(terminal.control[0]).toMatchObject({ type: "process", id: expect.stringMatching(/^prc_/) });
    terminal.type("stty size\n");
    await terminal.shows("30 90");
    terminal.socket.send(JSON.stringify({ type: "resize", cols: 120, rows: 40 }));
    await eventually("the new size", 20_000, async () => {
      terminal.socket.send("stty size; tty\n");
      await sleep(200);
      return terminal.output.includes("40 120");
    });
    await terminal.shows("/dev/pts/");
    terminal.type("sleep 1000\n");
    await sleep(200);
    terminal.type("\x03");
    terminal.type("echo $((6 * 7))\n");
    await terminal.shows("42");
    terminal.type("exit 5\n");
    expect(await terminal.closed).toBe(1000);
    expect(terminal.control.at(-1)).toEqual({ type: "exit", exit_code: 5, signal: null });
  });

  it("keeps the shell when the client goes, and shows its past to the next one", async () => {
    const first = await open();
    const process = first.control[0]!.id as string;
    first.type("marker=still-here; echo begin$((1 + 1))\n");
    await first.shows("begin2");
    first.socket.terminate();
    const second = await open(`?process=${process}&cols=70&rows=20`);
    await second.shows("begin2");
    second.type("echo $marker$((1 + 1)); stty size\n");
    await second.shows("still-here2");
    await second.shows("20 70");
    const info = await client.ok<Process>("GET", `/v1/sessions/${session}/processes/${process}`);
    const third = await open(`?process=${process}&after=${info.last_event_id}`);
    third.type("echo only-new$((1 + 1))\n");
    await third.shows("only-new2");
    await second.shows("only-new2");
    expect(third.output).not.toContain("begin");
    second.socket.close();
    third.type("exit\n");
    await third.closed;
    const again = await open(`?process=${process}`);
    expect(await again.closed).toBe(1000);
    expect(again.control.at(-1)).toMatchObject({ type: "exit", exit_code: 0 });
  });

  it("loses nothing of a large output, at the pace of a slow client", async () => {
    const terminal = await open();
    terminal.type("stty -echo -opost; sleep 0.2; head -c 5000000 /dev/zero | tr '\\0' x; echo END-OF-IT\n");
    await sleep(500);
    terminal.socket.pause();
    await sleep(1000);
    terminal.socket.resume();
    await eventually("the end", 20_000, () => terminal.output.includes("xEND-OF-IT"));
    expect(terminal.output.split("x").length - 1).toBeGreaterThanOrEqual(5_000_000);
    terminal.socket.close();
  });

  it("takes the key as a protocol, as a browser must, and never says it back", async () => {
    const terminal = await open("", ["sandbar", `bearer.${stack.key}`], {} as never);
    expect(terminal.socket.protocol).toBe("sandbar");
    terminal.type("exit\n");
    await terminal.closed;
    expect(await refusal(url(), ["sandbar", "bearer.sbk_wrong"], {})).toBe(401);
    expect(await refusal(url(), [], {})).toBe(401);
  });

  it("is for the tenant's own sessions, for processes with a terminal, and for WebSockets", async () => {
    const other = await stack.clientOf("other");
    expect(await refusal(url(), [], bearer(other.key))).toBe(404);
    expect(await refusal(url("?process=prc_00000000000000000000000000"), [], bearer())).toBe(404);
    const path = `/v1/sessions/${session}/processes`;
    const { id } = await client.ok<Process>("POST", path, { command: "sleep 60" });
    expect(await refusal(url(`?process=${id}`), [], bearer())).toBe(409);
    expect((await client.problem("GET", `/v1/sessions/${session}/terminal`)).body.code).toBe(
      "VALIDATION_FAILED",
    );
  });

  it("is closed when the daemon dies, and the shell is there for the next one", async () => {
    const terminal = await open();
    const process = terminal.control[0]!.id as string;
    terminal.type("x=kept; echo ready$((1 + 1))\n");
    await terminal.shows("ready2");
    await stack.killAgent("SIGKILL");
    await terminal.closed;
    await stack.startAgent();
    // The host counts as online for a while, whoever is there.
    let again: Terminal | null = null;
    await eventually("open again", 10_000, async () => {
      again = await open(`?process=${process}`);
      return true;
    });
    again!.type("echo $x$((1 + 1))\n");
    await again!.shows("kept2");
    again!.socket.close();
  });

  it("is use of the session, which does not grow idle under it", async () => {
    const short = (await client.create({ idle_ttl_s: 2 })).id;
    const socket = new WebSocket(url("", short), bearer());
    const terminal = new Terminal(socket);
    await eventually("open", 5000, () => terminal.control.length > 0);
    const status = async () => (await client.ok<{ status: string }>("GET", `/v1/sessions/${short}`)).status;
    await sleep(5000);
    expect(await status()).toBe("ready");
    socket.close();
    await terminal.closed;
    await eventually("idle after it", 20_000, async () => (await status()) === "stopped");
  });
});
