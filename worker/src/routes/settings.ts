/** @module `/v1/settings`: the agent's model and manners, of a tenant. Keys go in and never come out. */
import { createRoute } from "@hono/zod-openapi";
import {
  ModelChoicesSchema,
  ModelTestSchema,
  type PutSettings,
  PutSettingsSchema,
  SandbarError,
  SettingsSchema,
} from "@sandbar/shared";
import { type PlainSettings, type Secrets, saveSettings } from "../db/settings.ts";
import type { Env } from "../env.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";
import { seal } from "../sealed.ts";
import {
  type Known,
  knownSettings,
  modelChoices,
  providerOf,
  resolved,
  shownSettings,
} from "../settings/model-settings.ts";

const ATTEMPTS = 5;

export function settingsRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/settings",
      tags: ["settings"],
      summary: "Get the agent's settings",
      description:
        "The tenant's own over the operator's. Of an API key only that it is set, and its last four characters.",
      security: secured,
      responses: { 200: json(SettingsSchema, "The settings"), ...refused },
    }),
    async (c) => c.json(shownSettings(c.env, await knownSettings(c.env, c.get("caller").tenant)), 200),
  );

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/settings",
      tags: ["settings"],
      summary: "Change the agent's settings",
      description:
        "Fields that are left out stay; null takes one back to the operator's. `api_key` is of the model's provider. " +
        "A model of another provider takes `base_url` back, unless it is given too.",
      security: secured,
      request: { body: body(PutSettingsSchema) },
      responses: { 200: json(SettingsSchema, "The settings as they are now"), ...refused },
    }),
    async (c) => {
      const { tenant } = c.get("caller");
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const known = await knownSettings(c.env, tenant);
        const changed = merged(c.env, known, c.req.valid("json"));
        const secrets = await seal(c.env, changed.secrets);
        if (await saveSettings(c.env.DB, tenant, { settings: changed.settings, secrets }, known.updated_at))
          return c.json(shownSettings(c.env, await knownSettings(c.env, tenant)), 200);
      }
      throw new SandbarError("INTERNAL", "Others keep changing the settings");
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/settings/models",
      tags: ["settings"],
      summary: "List which models may be chosen",
      description:
        "Which providers have a key, and the models of an Ollama that runs: at its `base_url`, or on this machine.",
      security: secured,
      responses: { 200: json(ModelChoicesSchema, "The providers"), ...refused },
    }),
    async (c) => {
      if (!c.env.AGENT) throw new SandbarError("NOT_FOUND", "This Sandbar has no agent");
      const known = await knownSettings(c.env, c.get("caller").tenant);
      const ollama = await c.env.AGENT.ollamaModels(resolved(c.env, known));
      return c.json(modelChoices(c.env, known, ollama), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/settings/test",
      tags: ["settings"],
      summary: "Ask the model one small question",
      description:
        "With the settings as they are, or as the body would change them. `detail` is what the provider said.",
      security: secured,
      request: { body: { ...body(PutSettingsSchema), required: false } },
      responses: { 200: json(ModelTestSchema, "What came of it"), ...refused },
    }),
    async (c) => {
      if (!c.env.AGENT) throw new SandbarError("NOT_FOUND", "This Sandbar has no agent");
      const known = await knownSettings(c.env, c.get("caller").tenant);
      const wanted = merged(c.env, known, c.req.valid("json") ?? {});
      return c.json(await c.env.AGENT.testModel(resolved(c.env, wanted)), 200);
    },
  );
}

function merged(env: Env, known: Known, { api_key, api_keys, ...given }: PutSettings): Known {
  const settings: PlainSettings = { ...known.settings };
  for (const [name, value] of Object.entries(given) as [keyof PlainSettings, never][])
    if (value === null) delete settings[name];
    else if (value !== undefined) settings[name] = value;
  // An address is its provider's: the key of another one must not go there.
  const before = providerOf(known.settings.model ?? null);
  if (given.model !== undefined && given.base_url === undefined && before)
    if (providerOf(settings.model ?? env.SANDBAR_MODEL ?? null) !== before) delete settings.base_url;
  const secrets: Secrets = api_keys === null ? {} : { ...known.secrets };
  // Who takes back model and key together means that model's key.
  const left = api_key === null ? known.settings.model : undefined;
  const provider = providerOf(settings.model ?? left ?? env.SANDBAR_MODEL ?? null);
  if (typeof api_key === "string" && !provider)
    throw new SandbarError(
      "VALIDATION_FAILED",
      "api_key: choose a model first, or give api_keys by provider",
    );
  const keys = { ...(api_keys ?? {}), ...(api_key !== undefined && provider ? { [provider]: api_key } : {}) };
  for (const [name, key] of Object.entries(keys) as [keyof Secrets, string | null][])
    if (key === null) delete secrets[name];
    else secrets[name] = key;
  return { ...known, settings, secrets };
}
