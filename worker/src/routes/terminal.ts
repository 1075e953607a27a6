/** @module `/v1/sessions/:id/terminal`: a WebSocket on a shell, or on a process that has a terminal. */
import { createRoute, z } from "@hono/zod-openapi";
import { SandbarError } from "@sandbar/shared";
import { type App, refused, secured } from "../openapi.ts";
import { isUpgrade, joinTunnel, offeredProtocols, upgraded } from "../tunnel/client-socket.ts";
import { ask, getProcess, startProcess } from "./processes.ts";
import { SessionParams } from "./sessions.ts";

const cells = z.coerce.number().int().min(1).max(1000);
/** A shell that nobody looks at any more. */
const LINGER_S = 600;
const SHELL = 'exec "$SHELL" -i';

const TerminalQuery = z.object({
  cols: cells.optional(),
  rows: cells.optional(),
  process: z.string().optional(),
  /** Output up to this event id is not shown again. */
  after: z.coerce.number().int().nonnegative().default(0),
});

export function terminalRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/terminal",
      tags: ["processes"],
      summary: "Open a terminal",
      description:
        "A WebSocket. Starts a shell, or with `process` attaches to one that has a terminal and shows again what is kept of " +
        'its output (or what follows the event id `after`). Binary frames are bytes, both ways. Text to the server: `{"type":"resize",' +
        '"cols":…,"rows":…}`, or else bytes. Text to the client: `{"type":"process","id":…}` first, `{"type":"exit","exit_code":…,' +
        '"signal":…}` last. A shell that was started here ends 10 minutes after its last viewer has left. Browsers, which cannot ' +
        "set headers, offer the protocols `sandbar` and `bearer.<api key>`; the first is chosen.",
      security: secured,
      request: { params: SessionParams, query: TerminalQuery },
      responses: { 101: { description: "A WebSocket" }, ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { cols, rows, process: pid, after } = c.req.valid("query");
      if (!isUpgrade(c))
        throw new SandbarError("VALIDATION_FAILED", "This path takes WebSocket connections only");
      let process: string;
      if (pid === undefined) {
        const pty = { cols: cols ?? 80, rows: rows ?? 24 };
        ({ process } = await startProcess(c, id, { command: SHELL, pty }, { linger_s: LINGER_S }));
      } else {
        const found = await getProcess(c, id, pid);
        if (!found.pty) throw new SandbarError("NOT_A_TERMINAL");
        process = found.process;
        if (cols && rows) await ask(c, id, "processes.resize", { process, cols, rows });
      }
      const joined = await joinTunnel(c, id, async (grant) => {
        await ask(c, id, "terminal.open", { grant, process, after });
        return true;
      });
      return upgraded(joined!.socket, offeredProtocols(c)[0] ?? "") as never;
    },
  );
}
