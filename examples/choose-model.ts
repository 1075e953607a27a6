/**
 * The model of the agent examples: `SANDBAR_EXAMPLE_MODEL=anthropic:<model>` or `openai:<model>` takes a real one (with
 * its package, `@langchain/anthropic` or `@langchain/openai`, and its key in the environment); without it a script plays.
 *
 * @module
 */
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { initChatModel } from "langchain";
import { type Line, ScriptedModel } from "./scripted-model.ts";

export async function chooseModel(script: Line[]): Promise<BaseChatModel> {
  const name = process.env.SANDBAR_EXAMPLE_MODEL;
  return name ? ((await initChatModel(name)) as unknown as BaseChatModel) : new ScriptedModel(script);
}
