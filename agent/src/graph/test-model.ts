/** @module One real call to a model, to see whether its settings are right. */
import { HumanMessage } from "@langchain/core/messages";
import { type ModelSettings, type ModelTest, SandbarError } from "@sandbar/shared";
import { chooseModel } from "./models.ts";
import { providerFailure } from "./provider-failure.ts";

const TIMEOUT_MS = 30_000;

export async function testModel(settings: ModelSettings): Promise<ModelTest> {
  const begun = Date.now();
  const answer = (ok: boolean, detail: string): ModelTest => ({
    ok,
    detail: detail.slice(0, 1_000),
    model: settings.model,
    duration_ms: Date.now() - begun,
  });
  try {
    const { model } = chooseModel(settings);
    const said = await model.invoke([new HumanMessage("Answer with the single word: ready")], {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return answer(true, said.text || "(an empty answer)");
  } catch (error) {
    if (error instanceof SandbarError) return answer(false, error.message);
    const { status, detail } = providerFailure(error);
    return answer(false, status ? `${status}: ${detail}` : detail);
  }
}
