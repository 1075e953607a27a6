/** @module The bindings of the agent's Worker. */
import type { ControlPlaneService } from "@sandbar/shared";
import type { ThreadObject } from "./thread/object.ts";

export interface Env {
  DB: D1Database;
  THREADS: DurableObjectNamespace<ThreadObject>;
  /** The control plane's door for the agent: its API in the name of a key. */
  SANDBAR: ControlPlaneService;
}
