/** @module Hears of our containers' deaths, and listens again whenever Docker goes away. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type Docker from "dockerode";
import { z } from "zod";
import type { DeathListener } from "../engine/engine.ts";
import type { Log } from "../host/log.ts";
import { backoffMs } from "../io/backoff.ts";
import { LineReader } from "../io/line-reader.ts";
import { LABEL } from "./labels.ts";

const DieSchema = z.object({
  Actor: z.object({ ID: z.string(), Attributes: z.record(z.string(), z.string()) }),
});

export interface DockerEventsOptions {
  readonly docker: Docker;
  readonly hostId: string;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly listener: DeathListener;
}

export async function followDockerEvents(options: DockerEventsOptions): Promise<void> {
  const { docker, hostId, signal, log, listener } = options;
  for (let attempt = 0; !signal.aborted; attempt++) {
    try {
      const stream = await docker.getEvents({
        filters: { type: ["container"], event: ["die"], label: [`${LABEL.host}=${hostId}`] },
      });
      const lines = new LineReader(1024 * 1024);
      const stop = () => (stream as unknown as { destroy(): void }).destroy();
      signal.addEventListener("abort", stop, { once: true });
      stream.on("data", (chunk: Buffer) => {
        try {
          for (const line of lines.push(chunk)) {
            const event = line.trim() ? DieSchema.safeParse(JSON.parse(line)) : null;
            if (event?.success) listener.onDeath(event.data.Actor.ID);
          }
        } catch (error) {
          log.error({ err: error }, "cannot read Docker's events");
          stop();
        }
      });
      attempt = 0;
      listener.onResync();
      await Promise.race([once(stream, "close"), once(stream, "end")]);
      signal.removeEventListener("abort", stop);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, "lost Docker's events");
    }
    if (!signal.aborted) await sleep(backoffMs(attempt));
  }
}
