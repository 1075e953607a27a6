/** @module The settings as a form has them, and what of it is to be changed. */
import type { Provider, PutSettings, Settings } from "@sandbar/shared";

export interface SettingsValues {
  readonly provider: Provider;
  readonly model: string;
  readonly baseUrl: string;
  /** Only what is typed now. */
  readonly apiKey: string;
  readonly temperature: string;
  readonly iterations: string;
  readonly prompt: string;
  readonly approval: boolean;
  readonly readOnly: boolean;
  readonly vision: "model" | "yes" | "no";
}

export function formOf(settings: Settings): SettingsValues {
  const [provider = "anthropic", ...rest] = settings.model?.split(":") ?? [];
  return {
    provider: provider as Provider,
    model: rest.join(":"),
    // The operator's address is not the tenant's to change.
    baseUrl: settings.own.includes("base_url") ? (settings.base_url ?? "") : "",
    apiKey: "",
    temperature: settings.temperature === null ? "" : String(settings.temperature),
    iterations: String(settings.iterations),
    prompt: settings.prompt,
    approval: settings.approval,
    readOnly: settings.read_only,
    vision: settings.vision === null ? "model" : settings.vision ? "yes" : "no",
  };
}

/** Only what differs: the rest stays the operator's, also when the operator changes it. */
export function changesOf(form: SettingsValues, settings: Settings): PutSettings {
  const before = formOf(settings);
  const changed = (name: keyof SettingsValues) => form[name] !== before[name];
  const model = form.model.trim();
  const baseUrl = form.baseUrl.trim();
  return {
    ...(model && (changed("provider") || changed("model")) ? { model: `${form.provider}:${model}` } : {}),
    // With another provider it would be taken back.
    ...(changed("baseUrl") || (changed("provider") && baseUrl) ? { base_url: baseUrl || null } : {}),
    ...(form.apiKey.trim() ? { api_keys: { [form.provider]: form.apiKey.trim() } } : {}),
    ...(changed("temperature")
      ? { temperature: form.temperature === "" ? null : Number(form.temperature) }
      : {}),
    ...(changed("iterations") ? { iterations: form.iterations === "" ? null : Number(form.iterations) } : {}),
    ...(changed("prompt") ? { prompt: form.prompt || null } : {}),
    ...(changed("approval") ? { approval: form.approval } : {}),
    ...(changed("readOnly") ? { read_only: form.readOnly } : {}),
    ...(changed("vision") ? { vision: form.vision === "model" ? null : form.vision === "yes" } : {}),
  };
}
