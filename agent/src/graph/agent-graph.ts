/** @module The agent of one run, or of a look at a thread's state. */
import { AsyncLocalStorage } from "node:async_hooks";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { type StructuredToolInterface, tool } from "@langchain/core/tools";
import {
  type AgentMiddleware,
  createAgent,
  humanInTheLoopMiddleware,
  summarizationMiddleware,
} from "langchain";
import { z } from "zod";
import type { Images } from "../thread/images.ts";
import type { ObjectCheckpointer } from "./checkpointer.ts";
import { limitedSteps, mendedCalls, modelCalls, type Tell, toolAnswers } from "./middleware.ts";
import { type ChosenModel, openAiLike } from "./models.ts";
import { NEEDS_APPROVAL } from "./tools.ts";

// The packages' browser builds, which bundlers choose for Workers, leave this out; without it interrupts become errors.
AsyncLocalStorageProviderSingleton.initializeGlobalInstance(new AsyncLocalStorage());

/** Summarised when this part of the model's context is full; of models that are not known, this many tokens. */
const FULL = 0.7;
const FULL_TOKENS = 90_000;
const KEEP_MESSAGES = 20;

export interface AgentParts {
  readonly runId: string;
  readonly chosen: ChosenModel;
  readonly tools: StructuredToolInterface[];
  readonly prompt: string;
  readonly iterations: number;
  readonly approval: boolean;
  readonly images: Images;
  readonly tell: Tell;
}

export type Graph = ReturnType<typeof agentGraph>;

export function agentGraph(checkpointer: ObjectCheckpointer, parts: AgentParts) {
  const { chosen, images, tell } = parts;
  const tokens = chosen.maxInputTokens ? Math.floor(chosen.maxInputTokens * FULL) : FULL_TOKENS;
  const middleware: AgentMiddleware[] = [
    limitedSteps(parts.runId, parts.iterations),
    summarizationMiddleware({
      model: chosen.model,
      trigger: { tokens },
      keep: { messages: KEEP_MESSAGES },
      trimTokensToSummarize: tokens,
    }) as unknown as AgentMiddleware,
    approval(parts.approval),
    mendedCalls,
    toolAnswers(images),
    modelCalls(chosen, images, tell),
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

/** Always there, so that the graph has the same nodes whatever is wanted: a waiting call must find its own again. */
function approval(wanted: boolean): AgentMiddleware {
  const review = { allowedDecisions: ["approve", "edit", "reject"] as ("approve" | "edit" | "reject")[] };
  const interruptOn = wanted ? Object.fromEntries(NEEDS_APPROVAL.map((name) => [name, review])) : {};
  return humanInTheLoopMiddleware({ interruptOn }) as unknown as AgentMiddleware;
}

/** To read and change a thread's state, which asks no model. Its nodes are those of a run. */
export function stateGraph(checkpointer: ObjectCheckpointer, images: Images): Graph {
  const nothing = tool(() => "", { name: "nothing", description: "", schema: z.object({}) });
  const parts = { runId: "", tools: [nothing], prompt: "", iterations: 1, approval: false, tell: () => {} };
  const chosen = {
    ...{ provider: "compatible" as const, name: "none", model: openAiLike("none") },
    ...{ sees: false, seesInTools: false, maxInputTokens: undefined, callsTools: true },
  };
  return agentGraph(checkpointer, { ...parts, chosen, images });
}
