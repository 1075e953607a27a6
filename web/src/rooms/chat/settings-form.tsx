import { type ModelTest, PROVIDERS, type Provider, type PutSettings, type Settings } from "@sandbar/shared";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, TriangleAlert } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { choicesQuery } from "./settings-query.ts";
import { changesOf, formOf, type SettingsValues } from "./settings-values.ts";

const NAMES: Record<Provider, string> = {
  ...{ openai: "OpenAI", anthropic: "Anthropic", google: "Google", mistral: "Mistral", groq: "Groq" },
  ...{ xai: "xAI", openrouter: "OpenRouter", ollama: "Ollama", compatible: "OpenAI-compatible" },
};
const EXAMPLES: Record<Provider, string> = {
  ...{
    openai: "gpt-5",
    anthropic: "claude-sonnet-4-5",
    google: "gemini-2.5-pro",
    mistral: "mistral-large-latest",
  },
  ...{ groq: "llama-3.3-70b-versatile", xai: "grok-4", openrouter: "anthropic/claude-sonnet-4.5" },
  ...{ ollama: "qwen3", compatible: "the server's name of it" },
};

/** Model, keys and manners of the agent. A key goes in and never comes out; this page keeps none. */
export function SettingsForm({ settings, onSaved }: { settings: Settings; onSaved?: () => void }) {
  const [form, setForm] = useState(() => formOf(settings));
  const [busy, setBusy] = useState<"save" | "test" | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [test, setTest] = useState<ModelTest | null>(null);
  const set = (changes: Partial<SettingsValues>) => {
    setForm({ ...form, ...changes });
    setTest(null);
  };
  const kept = settings.api_keys[form.provider];

  const work = async (kind: "save" | "test") => {
    setBusy(kind);
    setError(null);
    setTest(null);
    try {
      const changes = changesOf(form, settings);
      if (kind === "test") setTest(await sandbar.settings.test(changes));
      else {
        took(await sandbar.settings.put(changes));
        setForm({ ...form, apiKey: "" });
        toast("Saved");
        onSaved?.();
      }
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(null);
    }
  };

  return (
    <form
      aria-label="Model and settings"
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        void work("save");
      }}
    >
      <OfOllama chosen={form} onChoose={(model) => set({ provider: "ollama", model, baseUrl: "" })} />
      <div className="grid gap-3 sm:grid-cols-[11rem_1fr]">
        <Field label="Provider">
          {(ids) => (
            <Select
              {...ids}
              className="w-full"
              value={form.provider}
              onChange={(provider) => set({ provider, apiKey: "", baseUrl: "" })}
              options={PROVIDERS.map((value) => ({ value, label: NAMES[value] }))}
            />
          )}
        </Field>
        <Field label="Model">
          {(ids) => (
            <Input
              {...ids}
              mono
              required
              placeholder={EXAMPLES[form.provider]}
              value={form.model}
              onChange={({ target }) => set({ model: target.value })}
            />
          )}
        </Field>
      </div>
      <Field label="API key" hint={keyHint(form.provider, kept)}>
        {(ids) => (
          <Input
            {...ids}
            mono
            type="password"
            autoComplete="new-password"
            placeholder={kept?.set ? "unchanged" : ""}
            value={form.apiKey}
            onChange={({ target }) => set({ apiKey: target.value })}
          />
        )}
      </Field>
      <Field
        label="Base URL"
        hint={
          form.provider === "compatible"
            ? "Where the server is, up to /v1."
            : "Only for another address than the provider's own."
        }
      >
        {(ids) => (
          <Input
            {...ids}
            mono
            type="url"
            required={form.provider === "compatible"}
            value={form.baseUrl}
            onChange={({ target }) => set({ baseUrl: target.value })}
          />
        )}
      </Field>
      <Keys settings={settings} />
      <details className="rounded-lg border px-3 py-2">
        <summary className="cursor-pointer font-medium">More settings</summary>
        <div className="mt-3 space-y-4">
          <div className="grid gap-3 sm:grid-cols-3">
            <Field label="Temperature">
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  min={0}
                  max={2}
                  step="any"
                  placeholder="the provider's"
                  value={form.temperature}
                  onChange={({ target }) => set({ temperature: target.value })}
                />
              )}
            </Field>
            <Field label="Steps in a turn">
              {(ids) => (
                <Input
                  {...ids}
                  type="number"
                  min={1}
                  max={200}
                  value={form.iterations}
                  onChange={({ target }) => set({ iterations: target.value })}
                />
              )}
            </Field>
            <Field label="Sees pictures">
              {(ids) => (
                <Select
                  {...ids}
                  className="w-full"
                  value={form.vision}
                  onChange={(vision) => set({ vision })}
                  options={[
                    { value: "model", label: "As the model says" },
                    { value: "yes", label: "Yes" },
                    { value: "no", label: "No" },
                  ]}
                />
              )}
            </Field>
          </div>
          <Field label="Told to the agent besides">
            {(ids) => (
              <TextArea
                {...ids}
                maxLength={20_000}
                value={form.prompt}
                onChange={({ target }) => set({ prompt: target.value })}
              />
            )}
          </Field>
          <Check checked={form.approval} onChange={(approval) => set({ approval })}>
            Ask before code runs
          </Check>
          <Check checked={form.readOnly} onChange={(readOnly) => set({ readOnly })}>
            Read-only: look at files and run nothing
          </Check>
        </div>
      </details>
      {error != null && <ErrorNote error={error} />}
      {test && <TestResult test={test} />}
      <div className="flex flex-wrap justify-end gap-2">
        <Button busy={busy === "test"} disabled={!form.model.trim()} onClick={() => void work("test")}>
          Test this model
        </Button>
        <Button tone="primary" type="submit" busy={busy === "save"}>
          Save
        </Button>
      </div>
    </form>
  );
}

function took(settings: Settings): void {
  queryClient.setQueryData(keys.settings, settings);
  void queryClient.invalidateQueries({ queryKey: keys.modelChoices });
}

function keyHint(provider: Provider, kept: Settings["api_keys"][Provider]): string {
  if (kept?.set && kept.from === "environment")
    return "The operator's is used. One of your own goes before it.";
  if (kept?.set) return `One is set; it ends in ${kept.last_four}. It is never shown again.`;
  return provider === "ollama" || provider === "compatible"
    ? "Only if the server wants one."
    : "It is sealed on the server, and never shown again.";
}

/** An Ollama that runs needs nothing but a choice. */
function OfOllama({ chosen, onChoose }: { chosen: SettingsValues; onChoose: (model: string) => void }) {
  const { data } = useQuery(choicesQuery);
  const ollama = data?.providers.find(({ provider }) => provider === "ollama");
  if (!ollama?.ready || ollama.models.length === 0) return null;
  return (
    <div role="group" aria-label="Ollama runs here" className="rounded-lg bg-accent-soft px-3 py-2.5">
      <p className="mb-2 font-medium text-accent">Ollama runs here. Choose one of its models:</p>
      <div className="flex flex-wrap gap-1.5">
        {ollama.models.map((name) => {
          const model = name.replace(/^ollama:/, "");
          const isChosen = chosen.provider === "ollama" && chosen.model === model;
          return (
            <Button
              key={name}
              size="sm"
              tone={isChosen ? "primary" : "plain"}
              aria-pressed={isChosen}
              onClick={() => onChoose(model)}
            >
              {model}
            </Button>
          );
        })}
      </div>
    </div>
  );
}

/** Keys that were given before, of whichever provider. */
function Keys({ settings }: { settings: Settings }) {
  const own = PROVIDERS.flatMap((provider) => {
    const kept = settings.api_keys[provider];
    return kept?.from === "settings" ? [{ provider, last: kept.last_four }] : [];
  });
  if (own.length === 0) return null;
  const forget = (provider: Provider) => {
    const changes: PutSettings = { api_keys: { [provider]: null } };
    sandbar.settings.put(changes).then(took, (error: unknown) => toastError(error, "Forget"));
  };
  return (
    <ul aria-label="Keys that are set" className="flex flex-wrap gap-2 text-xs">
      {own.map(({ provider, last }) => (
        <li key={provider} className="inline-flex items-center gap-1">
          <Badge>
            {NAMES[provider]} …{last}
          </Badge>
          <Button size="sm" tone="quiet" onClick={() => forget(provider)}>
            Forget
          </Button>
        </li>
      ))}
    </ul>
  );
}

function Check({
  checked,
  onChange,
  children,
}: {
  checked: boolean;
  onChange: (checked: boolean) => void;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <div className="flex items-center gap-2">
      <Checkbox id={id} checked={checked} onChange={onChange} />
      <label htmlFor={id}>{children}</label>
    </div>
  );
}

function TestResult({ test: { ok, detail, duration_ms } }: { test: ModelTest }) {
  return (
    <p
      role="status"
      className={`flex items-start gap-2 rounded-lg px-3 py-2.5 ${ok ? "bg-ok-soft" : "bg-danger-soft"}`}
    >
      {ok ? (
        <CircleCheck className="mt-0.5 size-4 shrink-0 text-ok" aria-hidden />
      ) : (
        <TriangleAlert className="mt-0.5 size-4 shrink-0 text-danger" aria-hidden />
      )}
      <span className="min-w-0 break-words">
        {ok ? `It answers, after ${Math.round(duration_ms)} ms: ` : "It does not answer: "}
        {detail}
      </span>
    </p>
  );
}
