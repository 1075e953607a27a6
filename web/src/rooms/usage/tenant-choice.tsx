import { type FormEvent, useEffect, useState } from "react";
import { Input } from "../../ui/input.tsx";

/** Whose usage an operator looks at: theirs, or any other's by its name. */
export function TenantChoice({ value, onChange }: { value: string; onChange: (tenant: string) => void }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    const wanted = text.trim();
    if (wanted && wanted !== value) onChange(wanted);
    if (!wanted) setText(value);
  };
  return (
    <form onSubmit={submit} className="flex items-center gap-2">
      <label htmlFor="usage-tenant" className="text-xs text-muted">
        Tenant
      </label>
      <span className="w-36">
        <Input
          id="usage-tenant"
          mono
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => submit()}
        />
      </span>
    </form>
  );
}
