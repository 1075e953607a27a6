/**
 * Chat models by `provider:model`. A static table, because LangChain's own way imports packages by name, which a bundle
 * does not have. Five of the providers speak OpenAI's protocol and need no package of their own.
 *
 * @module
 */
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { type ModelSettings, type Provider, ProviderSchema, SandbarError } from "@sandbar/shared";
import { type Address, guardedFetch, permitted } from "./model-address.ts";

interface Options {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  readonly temperature: number | undefined;
  readonly fetch: typeof fetch;
}

export interface ChosenModel {
  readonly provider: Provider;
  readonly name: string;
  readonly model: BaseChatModel;
  readonly sees: boolean;
  /** Whether pictures may stand in a tool's answer, or must follow it as the user's. */
  readonly seesInTools: boolean;
  readonly maxInputTokens: number | undefined;
  readonly callsTools: boolean;
}

const OPENAI_LIKE: Partial<Record<Provider, string>> = {
  mistral: "https://api.mistral.ai/v1",
  groq: "https://api.groq.com/openai/v1",
  xai: "https://api.x.ai/v1",
  openrouter: "https://openrouter.ai/api/v1",
  ollama: "http://127.0.0.1:11434/v1",
};
const WITHOUT_KEY = new Set<Provider>(["ollama", "compatible"]);
/** Names of models that see, of providers whose packages here have no profiles of them. */
const SEEING =
  /vision|pixtral|llava|gemma-?[34]|llama-?4|grok-(2-vision|[4-9])|mistral-(medium|small|large)-(latest|3|2[5-9])|[-.]vl\b|qwen.*-?vl|internvl|minicpm-v|moondream|gpt-4o|gpt-4\.1|gpt-5|o[34]\b|claude|gemini/i;

/** Retries are ours, since the packages' own know nothing of Retry-After. */
const COMMON = { maxRetries: 0 };

const makers: Record<"openai" | "anthropic" | "google", (options: Options) => BaseChatModel> = {
  openai: ({ model, apiKey, baseUrl, temperature, fetch }) =>
    new ChatOpenAI({
      ...COMMON,
      model,
      apiKey: apiKey ?? "none",
      temperature,
      // Several compatible servers refuse what they do not know.
      ...(baseUrl ? { streamUsage: false } : {}),
      configuration: { baseURL: baseUrl, fetch },
    }),
  anthropic: ({ model, apiKey, baseUrl, temperature, fetch }) =>
    new ChatAnthropic({
      ...COMMON,
      model,
      apiKey,
      temperature,
      maxTokens: 16_000,
      ...(baseUrl ? { anthropicApiUrl: baseUrl } : {}),
      clientOptions: { fetch },
    }),
  google: ({ model, apiKey, baseUrl, temperature }) =>
    new ChatGoogleGenerativeAI({ ...COMMON, model, apiKey, temperature, ...(baseUrl ? { baseUrl } : {}) }),
};

export function splitModel(text: string): { provider: Provider; name: string } {
  const [, before = "", name = ""] = /^([a-z]+):(.+)$/.exec(text) ?? [];
  const provider = ProviderSchema.safeParse(before);
  if (provider.success) return { provider: provider.data, name };
  throw new SandbarError(
    "MODEL_INVALID",
    `${JSON.stringify(text.slice(0, 200))} is not provider:model; providers are ${ProviderSchema.options.join(", ")}`,
  );
}

export function chooseModel(settings: ModelSettings): ChosenModel {
  if (!settings.model)
    throw new SandbarError("MODEL_NOT_SET", "No model is set: give one as provider:model, with its API key");
  const { provider, name } = splitModel(settings.model);
  const baseUrl = settings.base_url ?? OPENAI_LIKE[provider];
  const apiKey = settings.api_keys[provider];
  if (provider === "compatible" && !baseUrl)
    throw new SandbarError("MODEL_NOT_SET", "A compatible model needs a base_url");
  if (!apiKey && !WITHOUT_KEY.has(provider) && !settings.base_url)
    throw new SandbarError("MODEL_NOT_SET", `No API key of ${provider} is set`);
  const address: Address = { url: baseUrl ?? null, given: settings.base_url !== null };
  permitted(address, settings.private_urls);
  const kind = provider === "anthropic" || provider === "google" ? provider : "openai";
  const model = makers[kind]({
    model: name,
    apiKey: apiKey ?? (kind === "openai" ? undefined : "none"),
    baseUrl,
    temperature: settings.temperature ?? undefined,
    fetch: guardedFetch,
  });
  const profile = profileOf(model, name);
  return {
    provider,
    name,
    model,
    sees: settings.vision ?? profile.imageInputs ?? SEEING.test(name),
    seesInTools: kind === "anthropic",
    maxInputTokens: profile.maxInputTokens,
    callsTools: profile.toolCalling !== false,
  };
}

/** One that is never asked. */
export const openAiLike = (model: string): BaseChatModel => new ChatOpenAI({ model, apiKey: "none" });

interface Profile {
  imageInputs?: boolean;
  maxInputTokens?: number;
  toolCalling?: boolean;
}

/** Of a model that others resell, as its maker's package has it. */
function profileOf(model: BaseChatModel, name: string): Profile {
  const own = model.profile as Profile;
  if (own && Object.keys(own).length > 0) return own;
  const bare = name.split("/").at(-1)!;
  const keyed = { model: bare, apiKey: "none" };
  if (/claude/.test(bare)) return new ChatAnthropic(keyed).profile as Profile;
  if (/^(gpt|o\d)/.test(bare)) return new ChatOpenAI(keyed).profile as Profile;
  if (/gemini/.test(bare)) return new ChatGoogleGenerativeAI(keyed).profile as Profile;
  return {};
}
