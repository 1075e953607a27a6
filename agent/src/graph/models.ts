/**
 * Chat models by `provider:model`. A static table, because LangChain's own way imports packages by name, which a bundle
 * does not have. Those that speak OpenAI's protocol need no package of their own; where they are stricter than OpenAI,
 * the messages are made to suit (`messages-for-model.ts`).
 *
 * @module
 */
import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";
import { type ModelSettings, type Provider, ProviderSchema, SandbarError } from "@sandbar/shared";
import { guardedFetch, permitted } from "./model-address.ts";
import { OLLAMA_URL } from "./ollama.ts";

interface Options {
  readonly model: string;
  readonly apiKey: string | undefined;
  readonly baseUrl: string | undefined;
  readonly temperature: number | undefined;
  readonly fetch: typeof fetch;
}

/** Whose protocol it is. */
export type Wire = "openai" | "anthropic" | "google";

export interface ChosenModel {
  readonly provider: Provider;
  readonly wire: Wire;
  readonly name: string;
  readonly model: BaseChatModel;
  readonly sees: boolean;
  /** Whether pictures may stand in a tool's answer, or must follow it as the user's. */
  readonly seesInTools: boolean;
  /** Whether it insists on Mistral's order of messages and form of ids. */
  readonly strictOrder: boolean;
  readonly maxInputTokens: number | undefined;
  readonly callsTools: boolean;
}

const OPENAI_LIKE: Partial<Record<Provider, string>> = {
  mistral: "https://api.mistral.ai/v1",
  groq: "https://api.groq.com/openai/v1",
  xai: "https://api.x.ai/v1",
  openrouter: "https://openrouter.ai/api/v1",
  ollama: `${OLLAMA_URL}/v1`,
};
const WITHOUT_KEY = new Set<Provider>(["ollama", "compatible"]);
/** Names of models that see, of providers whose packages here have no profiles of them. */
const SEEING =
  /vision|pixtral|llava|gemma-?[34]|llama-?4|grok-(2-vision|[4-9])|mistral-(medium|small|large)-(latest|3|2[5-9])|[-.]vl\b|qwen.*-?vl|internvl|minicpm-v|moondream|gpt-4o|gpt-4\.1|gpt-5|o[34]\b|claude|gemini/i;

/** Mistral's models, wherever they are served: their templates refuse what others let pass. */
const STRICT = /mistral|mixtral|ministral|magistral|devstral|codestral|pixtral/i;
/** Ollama cuts off what is too long without a word; this is what it is advised to be served with. */
const OLLAMA_TOKENS = 32_000;

/** Anthropic wants to be told. */
const MAX_ANSWER_TOKENS = 16_000;

/** Retries are ours, since the packages' own know nothing of Retry-After. */
const COMMON = { maxRetries: 0 };

/** Whether it sees is decided here, for names that the package does not know too. */
class Gemini extends ChatGoogleGenerativeAI {
  override get _isMultimodalModel(): boolean {
    return true;
  }
}

// Google's package takes no fetch, only the global one. Nothing else in this Worker uses that.
globalThis.fetch = guardedFetch;

const makers: Record<Wire, (options: Options) => BaseChatModel> = {
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
      maxTokens: Math.min(MAX_ANSWER_TOKENS, mostTokens(model)),
      ...(baseUrl ? { anthropicApiUrl: baseUrl } : {}),
      clientOptions: { fetch },
    }),
  google: ({ model, apiKey, baseUrl, temperature }) =>
    new Gemini({ ...COMMON, model, apiKey: apiKey ?? "none", temperature, ...(baseUrl ? { baseUrl } : {}) }),
};

/** The package's own default is far too little for code, and older models refuse more than they can. */
function mostTokens(model: string): number {
  if (/claude-3-(haiku|opus|sonnet)/.test(model)) return 4_096;
  if (/claude-3-5/.test(model)) return 8_192;
  return (
    (new ChatAnthropic({ model, apiKey: "none" }).profile as Profile).maxOutputTokens ?? MAX_ANSWER_TOKENS
  );
}

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
  const given = settings.base_urls[provider];
  const baseUrl = given ?? OPENAI_LIKE[provider];
  const apiKey = settings.api_keys[provider];
  if (provider === "compatible" && !baseUrl)
    throw new SandbarError("MODEL_NOT_SET", "A compatible model needs a base_url");
  if (!apiKey && !WITHOUT_KEY.has(provider) && !given)
    throw new SandbarError("MODEL_NOT_SET", `No API key of ${provider} is set`);
  if (baseUrl) permitted(baseUrl, settings.private_urls);
  const wire = provider === "anthropic" || provider === "google" ? provider : "openai";
  const model = makers[wire]({
    model: name,
    apiKey: apiKey ?? (wire === "openai" ? undefined : "none"),
    baseUrl,
    temperature: settings.temperature ?? undefined,
    fetch: guardedFetch,
  });
  const profile = profileOf(model, name);
  return {
    provider,
    wire,
    name,
    model,
    sees: settings.vision ?? profile.imageInputs ?? SEEING.test(name),
    seesInTools: wire === "anthropic",
    strictOrder: provider === "mistral" || (wire === "openai" && STRICT.test(name)),
    maxInputTokens: provider === "ollama" ? OLLAMA_TOKENS : profile.maxInputTokens,
    callsTools: profile.toolCalling !== false,
  };
}

/** One that is never asked. */
export const openAiLike = (model: string): BaseChatModel => new ChatOpenAI({ model, apiKey: "none" });

interface Profile {
  imageInputs?: boolean;
  maxInputTokens?: number;
  maxOutputTokens?: number;
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
