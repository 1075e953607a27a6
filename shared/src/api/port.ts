/** @module Ports on which something listens inside a session. */
import { z } from "zod";

export const LISTENING_PORTS_LIMIT = 200;

export const ListeningPortSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  /** Where it listens: `127.0.0.1`, `0.0.0.0` for every address, `::` for those of IPv6, too. */
  addresses: z.array(z.string().max(64)).max(LISTENING_PORTS_LIMIT),
  /** Of whoever has it open; null when that cannot be seen. Inside the session. */
  pid: z.number().int().nullable(),
  /** What that process calls itself. */
  command: z.string().max(1000).nullable(),
  /** The process of the API that it is, or that started it. */
  process_id: z.string().max(64).nullable(),
});
export type ListeningPort = z.infer<typeof ListeningPortSchema>;

export const ListeningPortsSchema = z.object({
  ports: z.array(ListeningPortSchema).max(LISTENING_PORTS_LIMIT),
});
