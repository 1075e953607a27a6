import type { EffectivePolicy } from "@sandbar/sdk";
import type { ReactNode } from "react";
import { Field } from "../../ui/field.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { Select } from "../../ui/select.tsx";
import { ALLOWS, MAXIMA, type PolicyForm, type Said, SHARES } from "./policy-form.ts";

/** Radix knows no empty value. */
const UNSAID = "unsaid";

const ENGINES = [
  { value: "both", label: "Any" },
  { value: "container", label: "Containers" },
  { value: "wasm", label: "WebAssembly" },
] as const;

const ISOLATIONS = [
  { value: "any", label: "Any" },
  { value: "container", label: "Container" },
  { value: "sysbox", label: "Sysbox" },
  { value: "gvisor", label: "gVisor" },
  { value: "kata", label: "Kata" },
] as const;

/** Each field says what holds where it is left empty. */
export function PolicyFields({
  form,
  onChange,
  wrong,
  base,
}: {
  form: PolicyForm;
  onChange: (form: PolicyForm) => void;
  wrong: Record<string, string>;
  /** What holds for all tenants; undefined when the form is about that. */
  base: EffectivePolicy | undefined;
}) {
  const unsaid = base ? "as for all" : "by default";
  return (
    <>
      <Group title="What its sessions may have">
        <div className="grid gap-x-3 gap-y-1.5 sm:grid-cols-2">
          {ALLOWS.map(([name, label]) => (
            <div key={name} className="flex items-center justify-between gap-3">
              <span className="min-w-0 text-sm">{label}</span>
              <Select
                label={label}
                size="sm"
                className="w-32 shrink-0"
                value={form.allow[name] || UNSAID}
                onChange={(value) =>
                  onChange({
                    ...form,
                    allow: { ...form.allow, [name]: value === UNSAID ? "" : (value as Said) },
                  })
                }
                options={[
                  { value: UNSAID, label: base ? `as for all: ${base.allow[name] ? "yes" : "no"}` : unsaid },
                  { value: "yes", label: "yes" },
                  { value: "no", label: "no" },
                ]}
              />
            </div>
          ))}
        </div>
        {form.allow.imports === "yes" && (
          <Field
            label="Only from folders below"
            className="mt-3"
            hint="One a line. Empty: all that the host's operator has named."
            error={wrong["allow.imports"]}
          >
            {(ids) => (
              <TextArea
                {...ids}
                mono
                placeholder="/srv/acme"
                value={form.folders}
                onChange={(event) => onChange({ ...form, folders: event.target.value })}
              />
            )}
          </Field>
        )}
        <div className="mt-3 grid gap-3 sm:grid-cols-2">
          <Field label="Engine" error={wrong.engines}>
            {({ id }) => (
              <Select
                id={id}
                className="w-full"
                value={form.engines || UNSAID}
                onChange={(value) => onChange({ ...form, engines: value === UNSAID ? "" : value })}
                options={[{ value: UNSAID, label: unsaid }, ...ENGINES]}
              />
            )}
          </Field>
          <Field label="Wall around containers" error={wrong.isolation}>
            {({ id }) => (
              <Select
                id={id}
                className="w-full"
                value={form.isolation || UNSAID}
                onChange={(value) => onChange({ ...form, isolation: value === UNSAID ? "" : value })}
                options={[{ value: UNSAID, label: unsaid }, ...ISOLATIONS]}
              />
            )}
          </Field>
        </div>
      </Group>
      <Group title="The most that one session may have">
        <Numbers
          fields={MAXIMA}
          values={form.max}
          base={base?.max}
          group="max"
          wrong={wrong}
          onChange={(name, value) => onChange({ ...form, max: { ...form.max, [name]: value } })}
        />
      </Group>
      <Group title="All of them together" hint="“none” is no limit.">
        <Numbers
          fields={SHARES}
          values={form.shares}
          base={base?.shares}
          group="shares"
          wrong={wrong}
          onChange={(name, value) => onChange({ ...form, shares: { ...form.shares, [name]: value } })}
        />
      </Group>
    </>
  );
}

function Group({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) {
  return (
    <fieldset>
      <legend className="mb-2 font-semibold">
        {title} {hint && <span className="text-xs font-normal text-faint">{hint}</span>}
      </legend>
      {children}
    </fieldset>
  );
}

function Numbers<Name extends string>({
  fields,
  values,
  base,
  group,
  wrong,
  onChange,
}: {
  fields: readonly (readonly [Name, string])[];
  values: Record<Name, string>;
  base: Partial<Record<Name, number | null>> | undefined;
  group: string;
  wrong: Record<string, string>;
  onChange: (name: Name, value: string) => void;
}) {
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
      {fields.map(([name, label]) => (
        <Field key={name} label={label} error={wrong[`${group}.${name}`]}>
          {(ids) => (
            <Input
              {...ids}
              placeholder={base ? String(base[name] ?? "none") : ""}
              value={values[name]}
              onChange={(event) => onChange(name, event.target.value)}
            />
          )}
        </Field>
      ))}
    </div>
  );
}
