/** @module The agent of one run, or of a look at a thread's state. */
import { AsyncLocalStorage } from "node:async_hooks";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import { type AgentMiddleware, createAgent } from "langchain";
import { z } from "zod";
import type { Images } from "../thread/images.ts";
import { approval } from "./approval.ts";
import type { ObjectCheckpointer } from "./checkpointer.ts";
import { FreshIds } from "./fresh-ids.ts";
import { longHistory } from "./long-history.ts";
import { limitedSteps, mendedCalls, modelCalls, toolAnswers } from "./middleware.ts";
import { type ChosenModel, openAiLike } from "./models.ts";
import type { Tell } from "./patience.ts";
import { NEEDS_APPROVAL } from "./tools.ts";

// The packages' browser builds, which bundlers choose for Workers, leave this out; without it interrupts become errors.
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

export interface AgentParts {
  readonly runId: string;
  readonly chosen: ChosenModel;
  readonly tools: StructuredToolInterface[];
  readonly prompt: string;
  readonly iterations: number;
  readonly approval: boolean;
  readonly images: Images;
  readonly ids: FreshIds;
  readonly tell: Tell;
}

export type Graph = ReturnType<typeof agentGraph>;

export function agentGraph(checkpointer: ObjectCheckpointer, parts: AgentParts) {
  const { chosen, images, ids, tell } = parts;
  const middleware: AgentMiddleware[] = [
    limitedSteps(parts.runId, parts.iterations),
    longHistory(chosen, tell),
    // Always there, so that the graph has the same nodes whatever is wanted: a waiting call must find its own again.
    approval(parts.approval ? NEEDS_APPROVAL : []),
    mendedCalls,
    toolAnswers(images),
    modelCalls(chosen, images, ids, tell),
  ];
  const agent = createAgent({
    model: chosen.model,
    tools: parts.tools,
    systemPrompt: parts.prompt,
    middleware,
    checkpointer,
  });
  return agent.graph;
}

/** To read and change a thread's state, which asks no model. Its nodes are those of a run. */
export function stateGraph(checkpointer: ObjectCheckpointer, images: Images): Graph {
  const nothing = tool(() => "", { name: "nothing", description: "", schema: z.object({}) });
  const parts = { runId: "", tools: [nothing], prompt: "", iterations: 1, approval: false, tell: () => {} };
  const chosen = {
    ...{ provider: "compatible" as const, wire: "openai" as const, name: "none", model: openAiLike("none") },
    ...{ sees: false, seesInTools: false, strictOrder: false, maxInputTokens: undefined, callsTools: true },
  };
  return agentGraph(checkpointer, { ...parts, chosen, images, ids: new FreshIds() });
}
