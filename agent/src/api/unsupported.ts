/** @module Parts of the LangGraph Platform that the agent has not: whoever asks for them is told so, and by a code. */
import { SandbarError } from "@sandbar/shared";
import type { Api } from "./request.ts";

const PARTS: Record<string, string[]> = {
  "crons: start runs from a scheduler of your own": [
    "/runs/crons",
    "/runs/crons/*",
    "/threads/:thread_id/runs/crons",
  ],
  "store: keep what threads share in a dataset or as an artifact": ["/store/*"],
  "threads.stream() of the newest protocol: use runs.stream() or threads.joinStream()": [
    "/threads/:thread_id/commands",
    "/threads/:thread_id/stream/events",
  ],
};
const ASSISTANTS =
  "assistants of one's own: there is one, agent; choose its model in /v1/settings or in a run's config";

export function unsupportedRoutes(api: Api): void {
  const refuse = (part: string) => () => {
    throw new SandbarError("UNSUPPORTED_BY_AGENT", `The agent has no ${part}.`);
  };
  for (const [part, paths] of Object.entries(PARTS)) for (const path of paths) api.all(path, refuse(part));
  api.post("/assistants", refuse(ASSISTANTS));
  api.on(["PATCH", "DELETE"], "/assistants/:id", refuse(ASSISTANTS));
  api.post("/assistants/:id/latest", refuse(ASSISTANTS));
}
