/** @module Whether the agent has a model; when not, the one sentence that says what to do. */
import { type Sandbar, SandbarError } from "@sandbar/sdk";
import { next } from "../commands/settings.ts";

export interface NoModel {
  readonly sentence: string;
  /** Models of an Ollama that runs, which need no key. */
  readonly offered: readonly string[];
}

/** Null when it can be asked, or when this key may not know. */
export async function noModel(client: Sandbar): Promise<NoModel | null> {
  try {
    const settings = await client.settings.get();
    if (settings.ready) return null;
    const { providers } = await client.settings.models();
    const offered = providers.find(({ provider }) => provider === "ollama")?.models ?? [];
    const [first] = settings.model ? [] : offered;
    const ollama = first
      ? ` Ollama runs and has ${offered.join(", ")}: \`sandbar settings set model ${first}\`.`
      : "";
    return {
      sentence: `${settings.missing}${ollama || next(settings)}`,
      offered: settings.model ? [] : offered,
    };
  } catch (error) {
    if (error instanceof SandbarError && error.status === 403) return null;
    throw error;
  }
}
