import type { EffectivePolicy, TenantPolicy } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { problemOf } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { PolicyFields } from "./policy-fields.tsx";
import { ALL_TENANTS, formOf, policyOf } from "./policy-form.ts";

/** What a tenant may do and have: what is left out is as for all tenants. */
export function PolicyDialog({
  known,
  taken,
  onClose,
  onSaved,
}: {
  known: TenantPolicy | null;
  /** Tenants that have one. */
  taken: readonly string[];
  onClose: () => void;
  onSaved: (tenant: string) => void;
}) {
  const [tenant, setTenant] = useState(known?.tenant ?? "");
  const [form, setForm] = useState(() => formOf(known?.policy ?? {}));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const name = tenant.trim();
  const forAll = name === ALL_TENANTS;
  // Setting one where there is one would replace it without a word.
  const clash = !known && taken.includes(name) ? "It has a policy: change that one." : null;
  const base = useQuery({
    queryKey: [...keys.policies, ALL_TENANTS],
    queryFn: async (): Promise<EffectivePolicy> => (await sandbar.policies.get(ALL_TENANTS)).effective,
  });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const result = policyOf(form);
    setError(null);
    if ("wrong" in result) return setWrong(result.wrong);
    setWrong({});
    setBusy(true);
    try {
      await sandbar.policies.put(name, result.policy);
      onSaved(name);
    } catch (failure) {
      setError(failure);
      setWrong(Object.fromEntries(problemOf(failure).fields.map(({ path, message }) => [path, message])));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={known ? `Policy of ${forAll ? "all tenants" : name}` : "Set a policy"}
      description={
        forAll
          ? "Holds for every tenant whose own policy says nothing else. Empty fields are as by default."
          : "Over what is said for all tenants. Empty fields are as there. It counts for sessions from now on."
      }
      width="lg"
      footer={
        <>
          <Button tone="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            form="policy"
            tone="primary"
            busy={busy}
            disabled={name === "" || clash !== null}
          >
            Set policy
          </Button>
        </>
      }
    >
      <form id="policy" onSubmit={(event) => void submit(event)} className="space-y-5 pt-2">
        {!known && (
          <Field label="Tenant" hint="Its name, or * for all tenants" error={clash ?? wrong.tenant}>
            {(ids) => (
              <Input
                {...ids}
                mono
                autoFocus
                placeholder="acme"
                value={tenant}
                onChange={(event) => setTenant(event.target.value)}
              />
            )}
          </Field>
        )}
        <PolicyFields form={form} onChange={setForm} wrong={wrong} base={forAll ? undefined : base.data} />
        {error != null && <ErrorNote error={error} />}
      </form>
    </Dialog>
  );
}
