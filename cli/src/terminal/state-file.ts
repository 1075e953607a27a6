/** @module Where commands remember things between two calls. */
import { homedir } from "node:os";
import { join } from "node:path";

export const stateFile = (name: string): string =>
  join(process.env.XDG_STATE_HOME ?? join(homedir(), ".local/state"), "sandbar", name);
