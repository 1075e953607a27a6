/**
 * A tenant's settings over the environment's. The operator's keys are for the operator's addresses: a tenant that names
 * an address of its own must bring a key of its own, or it could have the operator's sent there.
 *
 * @module
 */
import {
  ITERATIONS_DEFAULT,
  type ModelChoices,
  type ModelSettings,
  type OllamaModels,
  PROVIDERS,
  type PrivateUrls,
  type Provider,
  type Settings,
} from "@sandbar/shared";
import { findSettings, type PlainSettings, type Secrets } from "../db/settings.ts";
import type { Env } from "../env.ts";
import { unseal } from "../sealed.ts";

const KEY_NAMES: Partial<Record<Provider, keyof Env>> = {
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
  google: "GOOGLE_API_KEY",
  mistral: "MISTRAL_API_KEY",
  groq: "GROQ_API_KEY",
  xai: "XAI_API_KEY",
  openrouter: "OPENROUTER_API_KEY",
};
const KEYLESS = new Set<Provider>(["ollama", "compatible"]);

export interface Known {
  readonly settings: PlainSettings;
  readonly secrets: Secrets;
  readonly updated_at: string | null;
}

export async function knownSettings(env: Env, tenant: string): Promise<Known> {
  const row = await findSettings(env.DB, tenant);
  if (!row) return { settings: {}, secrets: {}, updated_at: null };
  const secrets = (await unseal(env, row.secrets)) as Secrets;
  return { settings: row.settings, secrets, updated_at: row.updated_at };
}

export async function modelSettings(env: Env, tenant: string): Promise<ModelSettings> {
  return resolved(env, await knownSettings(env, tenant));
}

export function resolved(env: Env, { settings, secrets }: Known): ModelSettings {
  const model = settings.model ?? (env.SANDBAR_MODEL || null);
  const provider = providerOf(model);
  const base_urls: ModelSettings["base_urls"] = {};
  if (env.OLLAMA_BASE_URL) base_urls.ollama = `${env.OLLAMA_BASE_URL.replace(/\/(v1\/?)?$/, "")}/v1`;
  const operators = providerOf(env.SANDBAR_MODEL ?? null);
  if (operators && env.SANDBAR_MODEL_BASE_URL) base_urls[operators] = env.SANDBAR_MODEL_BASE_URL;
  const own = settings.base_url ? provider : null;
  if (own) base_urls[own] = settings.base_url!;
  const api_keys: Secrets = {};
  for (const name of PROVIDERS) {
    const key = secrets[name] ?? (name === own ? undefined : environmentKey(env, name));
    if (key) api_keys[name] = key;
  }
  return {
    model,
    base_urls,
    api_keys,
    temperature: settings.temperature ?? null,
    iterations: settings.iterations ?? ITERATIONS_DEFAULT,
    prompt: settings.prompt ?? "",
    approval: settings.approval ?? false,
    read_only: settings.read_only ?? false,
    vision: settings.vision ?? null,
    private_urls: privateUrls(env),
  };
}

export function shownSettings(env: Env, known: Known): Settings {
  const { api_keys, base_urls, private_urls: _, ...shown } = resolved(env, known);
  const provider = providerOf(shown.model);
  // An address that waits for its model is shown too.
  const base_url = (provider ? base_urls[provider] : known.settings.base_url) ?? null;
  const kept = PROVIDERS.flatMap((provider) => {
    const key = api_keys[provider];
    if (!key) return [];
    const from = keyFrom(known, api_keys, provider);
    // The operator's keys are not the tenant's to recognise.
    return [[provider, { set: true, last_four: from === "settings" ? key.slice(-4) : null, from }]] as const;
  });
  const missing = whatIsMissing(shown.model, base_url, api_keys);
  return {
    ...shown,
    base_url,
    api_keys: Object.fromEntries(kept),
    own: Object.keys(known.settings),
    ready: missing === null,
    missing,
    updated_at: known.updated_at,
  };
}

/** Which providers can be asked; of Ollama, whether it runs and what it has. */
export function modelChoices(env: Env, known: Known, ollama: OllamaModels): ModelChoices {
  const { api_keys, base_urls } = resolved(env, known);
  const models = (ollama.models ?? []).map((name) => `ollama:${name}`);
  const ollamaMisses = models.length > 0 ? null : "detail" in ollama ? ollama.detail : "Ollama has no model";
  const providers = PROVIDERS.map((provider) => {
    const detail =
      provider === "ollama"
        ? ollamaMisses
        : whatIsMissing(`${provider}:`, base_urls[provider] ?? null, api_keys);
    return {
      provider,
      ready: detail === null,
      key: keyFrom(known, api_keys, provider),
      models: provider === "ollama" ? models : [],
      detail,
    };
  });
  return { providers };
}

function keyFrom({ secrets }: Known, keys: Secrets, provider: Provider): "settings" | "environment" | null {
  if (!keys[provider]) return null;
  return secrets[provider] ? "settings" : "environment";
}

function whatIsMissing(model: string | null, base_url: string | null, keys: Secrets): string | null {
  const provider = providerOf(model);
  if (!provider) return "No model is set: choose one, such as anthropic:claude-sonnet-4-5, and give its key.";
  if (provider === "compatible" && !base_url) return "A compatible model needs its base_url.";
  if (!keys[provider] && !KEYLESS.has(provider) && !base_url) return `The API key of ${provider} is not set.`;
  return null;
}

export function providerOf(model: string | null): Provider | null {
  const name = model?.split(":")[0] as Provider;
  return PROVIDERS.includes(name) ? name : null;
}

function environmentKey(env: Env, provider: Provider): string | undefined {
  const name = KEY_NAMES[provider];
  const key = name && (env[name] as string | undefined);
  if (key) return key;
  return provider === providerOf(env.SANDBAR_MODEL ?? null) ? env.SANDBAR_MODEL_API_KEY : undefined;
}

function privateUrls({ SANDBAR_MODEL_PRIVATE_URLS: value }: Env): PrivateUrls {
  return value === "all" || value === "loopback" ? value : "none";
}
