import type { EngineChoice, Language } from "@sandbar/sdk";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Field } from "../../ui/field.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Select } from "../../ui/select.tsx";
import type { CreateForm } from "./create-form.ts";
import { VolumeFields } from "./volume-fields.tsx";

const RUNTIMES: { value: Language; label: string }[] = [
  { value: "python", label: "Python" },
  { value: "node", label: "Node" },
  { value: "r", label: "R" },
  { value: "bash", label: "bash" },
];

const ENGINES: { value: EngineChoice; label: string; hint: string }[] = [
  { value: "any", label: "Any", hint: "a container where there is room for one" },
  { value: "container", label: "Container", hint: "all languages, terminals, servers" },
  { value: "wasm", label: "WebAssembly", hint: "Python alone; needs no Docker" },
];

const PACKAGES: Partial<Record<Language, { label: string; example: string }>> = {
  node: { label: "npm packages", example: "lodash@4\nzod" },
  r: { label: "R packages", example: "data.table\njsonlite" },
};
const PYTHON_PACKAGES = { label: "Python packages", example: "polars==1.9.0\nhumanize" };

const LIMITS = [
  ["memory_mb", "Memory, MB"],
  ["cpus", "CPUs"],
  ["pids", "Processes"],
  ["tmpfs_mb", "Files in memory, MB"],
  ["timeout_s", "Cell timeout, s"],
  ["idle", "Ends when idle for", "30m"],
  ["lifetime", "Ends at the latest after", "2h"],
] as const;

/** What is usually chosen stands open; what hardly anybody changes is folded away until it is wrong. */
export function CreateFields({
  form,
  wrong,
  onChange: set,
}: {
  form: CreateForm;
  wrong: Partial<Record<keyof CreateForm, string>>;
  onChange: (change: Partial<CreateForm>) => void;
}) {
  const packages = PACKAGES[form.runtime] ?? PYTHON_PACKAGES;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <div>
          <span className="mb-1 block text-xs font-medium text-muted">Runtime</span>
          <Segments
            label="Runtime"
            value={form.runtime}
            options={RUNTIMES}
            onChange={(runtime) => set({ runtime })}
          />
        </div>
        <Field label="Key" hint="The same key finds the same session again." error={wrong.key}>
          {(ids) => (
            <Input
              {...ids}
              autoFocus
              maxLength={256}
              placeholder="conversation-17"
              value={form.key}
              onChange={(event) => set({ key: event.target.value })}
            />
          )}
        </Field>
      </div>
      <div className="grid gap-4 sm:grid-cols-3">
        <Field label="Storage">
          {({ id }) => (
            <Select
              id={id}
              className="w-full"
              value={form.storage}
              onChange={(storage) => set({ storage })}
              options={[
                { value: "TMPFS", label: "Memory", hint: "TMPFS: /session is gone with the session" },
                { value: "BIND", label: "Folder of the host", hint: "BIND: /session stays on the host" },
              ]}
            />
          )}
        </Field>
        <Field label="Datasets">
          {({ id }) => (
            <Select
              id={id}
              className="w-full"
              value={form.datasets}
              onChange={(datasets) => set({ datasets })}
              options={[
                { value: "NONE", label: "None" },
                { value: "LOCAL_RO", label: "The host's, read-only", hint: "LOCAL_RO: mounted at /data" },
                { value: "API", label: "Staged on demand", hint: "API: into /session/data" },
              ]}
            />
          )}
        </Field>
        <Field label="Network">
          {({ id }) => (
            <Select
              id={id}
              className="w-full"
              value={form.network}
              onChange={(network) => set({ network })}
              options={[
                { value: "none", label: "None", hint: "nothing but loopback" },
                { value: "egress", label: "Internet", hint: "not the host, not private ranges" },
                { value: "names", label: "Some hosts", hint: "by name, through a proxy" },
              ]}
            />
          )}
        </Field>
      </div>
      {form.network === "names" && (
        <Field
          label="Hosts that it may reach"
          hint="One a line. They can be changed while the session runs."
          error={wrong.allow ?? wrong.network}
        >
          {(ids) => (
            <TextArea
              {...ids}
              mono
              rows={3}
              placeholder={"files.example.org\n*.example.com:443"}
              value={form.allow}
              onChange={(event) => set({ allow: event.target.value })}
            />
          )}
        </Field>
      )}
      <More title="Packages" open={Boolean(wrong.dependencies)} note={countLines(form.dependencies)}>
        <Field
          label={packages.label}
          hint="One a line, with a version or without. Installed before the session starts; no network needed in it."
          error={wrong.dependencies}
        >
          {(ids) => (
            <TextArea
              {...ids}
              mono
              rows={3}
              placeholder={packages.example}
              value={form.dependencies}
              onChange={(event) => set({ dependencies: event.target.value })}
            />
          )}
        </Field>
      </More>
      <More title="Limits and life" open={LIMITS.some(([name]) => name in wrong)}>
        <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
          {LIMITS.map(([name, label, example]) => (
            <Field key={name} label={label} error={wrong[name]}>
              {(ids) => (
                <Input
                  {...ids}
                  placeholder={example ?? "host's default"}
                  value={form[name]}
                  onChange={(event) => set({ [name]: event.target.value })}
                />
              )}
            </Field>
          ))}
        </div>
      </More>
      <More title="Volumes" open={Boolean(wrong.volumes)} note={form.volumes.length || null}>
        <VolumeFields value={form.volumes} onChange={(volumes) => set({ volumes })} error={wrong.volumes} />
      </More>
      <More
        title="Labels, environment, image, engine"
        open={Boolean(wrong.labels || wrong.env || wrong.image)}
        note={countLines(`${form.labels}\n${form.env}\n${form.image}`)}
      >
        <div className="grid gap-3 sm:grid-cols-2">
          <Field label="Labels" error={wrong.labels}>
            {(ids) => (
              <TextArea
                {...ids}
                mono
                rows={2}
                placeholder="team=ml"
                value={form.labels}
                onChange={(event) => set({ labels: event.target.value })}
              />
            )}
          </Field>
          <Field label="Environment variables" error={wrong.env}>
            {(ids) => (
              <TextArea
                {...ids}
                mono
                rows={2}
                placeholder="MODE=test"
                value={form.env}
                onChange={(event) => set({ env: event.target.value })}
              />
            )}
          </Field>
          <Field
            label="Image"
            hint="Empty for the runtime's own; others must be on the operator's list."
            error={wrong.image}
          >
            {(ids) => (
              <Input
                {...ids}
                mono
                placeholder="registry.example/team/image:tag"
                value={form.image}
                onChange={(event) => set({ image: event.target.value })}
              />
            )}
          </Field>
          <Field label="Engine">
            {({ id }) => (
              <Select
                id={id}
                className="w-full"
                value={form.engine}
                onChange={(engine) => set({ engine })}
                options={ENGINES}
              />
            )}
          </Field>
        </div>
      </More>
    </>
  );
}

function countLines(text: string): number | null {
  return text.split("\n").filter((line) => line.trim()).length || null;
}

function More({
  title,
  note,
  open,
  children,
}: {
  title: string;
  note?: number | null;
  /** Something in it is wrong. */
  open?: boolean;
  children: ReactNode;
}) {
  const [opened, setOpened] = useState(false);
  return (
    <details
      className="group border-t pt-3"
      open={opened || open}
      onToggle={(event) => setOpened(event.currentTarget.open)}
    >
      <summary className="flex cursor-pointer list-none items-center gap-1.5 rounded font-medium">
        <ChevronRight className="size-3.5 text-faint transition-transform group-open:rotate-90" aria-hidden />
        {title}
        {note ? <span className="text-xs font-normal text-faint tabular-nums">{note}</span> : null}
      </summary>
      <div className="pt-3">{children}</div>
    </details>
  );
}
