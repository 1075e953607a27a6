/** @module What an Ollama has, if one runs: it is offered to whoever has chosen no model. */
import { type ModelSettings, type OllamaModels, SandbarError } from "@sandbar/shared";
import { guardedFetch, permitted } from "./model-address.ts";

export const OLLAMA_URL = "http://127.0.0.1:11434";
/** One that runs answers in milliseconds. */
const TIMEOUT_MS = 2_000;
const MOST_MODELS = 500;

interface Tag {
  name?: unknown;
  details?: { family?: unknown };
}

export async function ollamaModels({ base_urls, private_urls }: ModelSettings): Promise<OllamaModels> {
  // Its own API is beside the one of OpenAI's protocol.
  const url = (base_urls.ollama ?? OLLAMA_URL).replace(/\/v1\/?$|\/$/, "");
  try {
    permitted(url, private_urls);
    const response = await guardedFetch(`${url}/api/tags`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!response.ok) {
      await response.body?.cancel();
      return { models: null, detail: `Ollama at ${url} said ${response.status}` };
    }
    const { models } = (await response.json()) as { models?: unknown };
    if (!Array.isArray(models)) return { models: null, detail: `What answers at ${url} is not Ollama` };
    return { models: models.slice(0, MOST_MODELS).flatMap(talking) };
  } catch (error) {
    if (error instanceof SandbarError) return { models: null, detail: error.message };
    return { models: null, detail: `No Ollama answers at ${url}` };
  }
}

/** Models that only embed have nothing to say. */
function talking({ name, details }: Tag): string[] {
  if (typeof name !== "string" || name.length > 200 || /\s/.test(name)) return [];
  return /bert|embed/i.test(`${name} ${details?.family ?? ""}`) ? [] : [name];
}
