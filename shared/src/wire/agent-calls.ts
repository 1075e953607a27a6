/**
 * What the control plane and the agent's Worker say to each other over their service bindings. Nobody else can reach
 * either end, so who calls is an argument here and needs no proof.
 *
 * @module
 */
import { z } from "zod";

/** In whose name something is done. A key that was revoked meanwhile does nothing more. */
export interface AgentCaller {
  readonly key_id: string;
  readonly tenant: string;
}

/** What goes with a request below `/langgraph` after its key was checked, as JSON in a header. */
export interface AgentCall {
  readonly last_event_id: string | null;
  readonly request_id: string;
  readonly caller: AgentCaller;
}
export const AGENT_CALL_HEADER = "x-sandbar-call";

export interface AgentService {
  /** With the URL as the client sent it: links lead back there. */
  fetch(request: Request): Promise<Response>;
  /** One small question to the model. */
  testModel(settings: ModelSettings): Promise<ModelTest>;
  /** What Ollama has, if it runs where the settings say. */
  ollamaModels(settings: ModelSettings): Promise<OllamaModels>;
}

/** The header in which the agent says whose key it acts for; read only at the agent's own door. */
export const ACTING_KEY_HEADER = "x-sandbar-acting-key";

export interface ControlPlaneService {
  fetch(request: Request): Promise<Response>;
  stillGood(key_id: string): Promise<boolean>;
  /** Null when the key is not good any more. */
  settings(key_id: string): Promise<ModelSettings | null>;
}

export const PROVIDERS = [
  "openai",
  "anthropic",
  "google",
  "mistral",
  "groq",
  "xai",
  "openrouter",
  "ollama",
  "compatible",
] as const;
export const ProviderSchema = z.enum(PROVIDERS);
export type Provider = z.infer<typeof ProviderSchema>;

/** Which base URLs may be called: public ones, those of this machine too, or any. */
export type PrivateUrls = "none" | "loopback" | "all";

/** A tenant's settings over the environment's, with secrets. Never leaves the two Workers. */
export interface ModelSettings {
  /** `provider:model`, or null when nobody has chosen one. */
  readonly model: string | null;
  /** By provider, where they are not the providers' own. Each belongs to the key of the same provider. */
  readonly base_urls: Partial<Record<Provider, string>>;
  readonly api_keys: Partial<Record<Provider, string>>;
  readonly temperature: number | null;
  readonly iterations: number;
  readonly prompt: string;
  readonly approval: boolean;
  readonly read_only: boolean;
  /** Null: as the model's profile says. */
  readonly vision: boolean | null;
  readonly private_urls: PrivateUrls;
}

export interface ModelTest {
  readonly ok: boolean;
  /** What the provider said, or why it could not be asked. */
  readonly detail: string;
  readonly model: string | null;
  readonly duration_ms: number;
}

/** Their names, or why there are none. */
export type OllamaModels =
  | { readonly models: readonly string[] }
  | { readonly models: null; readonly detail: string };
