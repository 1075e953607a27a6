/** @module The agent's Worker: what the control plane calls, and the object of a thread. */
import { WorkerEntrypoint } from "cloudflare:workers";
import {
  AGENT_CALL_HEADER,
  type AgentCall,
  type AgentService,
  type ModelSettings,
  type ModelTest,
  type OllamaModels,
} from "@sandbar/shared";
import { createApi } from "./api/api.ts";
import type { Env } from "./env.ts";
import { ollamaModels } from "./graph/ollama.ts";

export { ThreadObject } from "./thread/object.ts";

const api = createApi();

export class AgentEntrypoint extends WorkerEntrypoint<Env> implements AgentService {
  override async fetch(request: Request): Promise<Response> {
    const call: AgentCall = JSON.parse(request.headers.get(AGENT_CALL_HEADER)!);
    return api.fetch(request, { ...this.env, CALL: call }, this.ctx);
  }

  async testModel(settings: ModelSettings): Promise<ModelTest> {
    // Most requests need no model; those need not evaluate its packages.
    const { testModel } = await import("./graph/test-model.ts");
    return testModel(settings);
  }

  async ollamaModels(settings: ModelSettings): Promise<OllamaModels> {
    return ollamaModels(settings);
  }
}

/** Nothing is served to the outside. */
export default { fetch: () => new Response(null, { status: 404 }) } satisfies ExportedHandler<Env>;
