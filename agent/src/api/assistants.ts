/** @module Assistants: there is one, the agent. */
import { SandbarError } from "@sandbar/shared";
import { type Api, body } from "./request.ts";
import { SearchAssistantsSchema } from "./shapes.ts";

/** As the Platform makes it of the graph's name, so that clients may keep it. */
export const AGENT_ID = "fe096781-5601-53d2-b2f6-0d3403f7e9ca";
const GRAPH_ID = "agent";
const MADE_AT = "2026-11-18T00:00:00.000Z";

const AGENT = {
  assistant_id: AGENT_ID,
  graph_id: GRAPH_ID,
  name: "agent",
  description: "Answers with code that it runs in the thread's sandbox.",
  config: {},
  context: {},
  metadata: { created_by: "system" },
  version: 1,
  created_at: MADE_AT,
  updated_at: MADE_AT,
};

/** Of a run's `assistant_id`, which may be the graph's name. */
export function requireAgent(id: string): void {
  if (id !== AGENT_ID && id !== GRAPH_ID)
    throw new SandbarError("NOT_FOUND", "No such assistant; there is one, agent");
}

const MESSAGES = {
  type: "object",
  properties: { messages: { type: "array", items: { type: "object" } } },
};
const WISHES = {
  type: "object",
  properties: {
    model: { type: "string", description: "provider:model" },
    temperature: { type: "number" },
    iterations: { type: "integer" },
    approval: { type: "boolean" },
    read_only: { type: "boolean" },
    session: { type: "object", description: "What a new sandbox is like, as in POST /v1/sessions" },
  },
};

export function assistantRoutes(api: Api): void {
  api.post("/assistants/search", async (c) => {
    const { graph_id, name, metadata, offset } = await body(c, SearchAssistantsSchema);
    const about: Record<string, unknown> = AGENT.metadata;
    const found =
      (!graph_id || graph_id === GRAPH_ID) &&
      (!name || AGENT.name.includes(name)) &&
      Object.entries(metadata ?? {}).every(([key, value]) => about[key] === value);
    return c.json(found && offset === 0 ? [AGENT] : []);
  });
  api.post("/assistants/count", (c) => c.json(1));
  api.get("/assistants/:id", (c) => {
    requireAgent(c.req.param("id"));
    return c.json(AGENT);
  });
  api.get("/assistants/:id/schemas", (c) => {
    requireAgent(c.req.param("id"));
    return c.json({
      graph_id: GRAPH_ID,
      input_schema: MESSAGES,
      output_schema: MESSAGES,
      state_schema: MESSAGES,
      config_schema: WISHES,
      context_schema: WISHES,
    });
  });
  api.get("/assistants/:id/graph", (c) => {
    requireAgent(c.req.param("id"));
    const nodes = ["__start__", "model_request", "tools", "__end__"];
    const edge = (source: string, target: string, conditional = false) => ({ source, target, conditional });
    return c.json({
      nodes: nodes.map((id) => ({ id, type: id.startsWith("__") ? "schema" : "runnable", data: id })),
      edges: [
        edge("__start__", "model_request"),
        edge("model_request", "tools", true),
        edge("tools", "model_request"),
        edge("model_request", "__end__", true),
      ],
    });
  });
  for (const path of ["/assistants/:id/subgraphs", "/assistants/:id/subgraphs/:namespace"] as const)
    api.get(path, (c) => {
      requireAgent(c.req.param("id"));
      return c.json({});
    });
  api.post("/assistants/:id/versions", (c) => {
    requireAgent(c.req.param("id"));
    return c.json([AGENT]);
  });
}
