/** @module Progress notifications while code runs: they carry the newest output and keep the client waiting. */
import type { ServerContext } from "@modelcontextprotocol/server";

const EVERY_MS = 250;
const HEARTBEAT_MS = 5_000;
const MESSAGE_CHARS = 500;

export function progressOf({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return { output(_: string): void {}, stop(): void {} };
  const began = Date.now();
  let fresh = "";
  let progress = 0;
  let sentAt = 0;
  const send = (message: string) => {
    sentAt = Date.now();
    const params = { progressToken, progress: ++progress, message };
    // The request may have ended in the meantime; then nobody needs it.
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const tick = setInterval(() => {
    if (fresh !== "") send(fresh.slice(-MESSAGE_CHARS));
    else if (Date.now() - sentAt > HEARTBEAT_MS)
      send(`running for ${Math.round((Date.now() - began) / 1000)} s`);
    fresh = "";
  }, EVERY_MS);
  return {
    output(text: string): void {
      fresh += text;
    },
    stop(): void {
      clearInterval(tick);
      if (fresh !== "") send(fresh.slice(-MESSAGE_CHARS));
    },
  };
}
