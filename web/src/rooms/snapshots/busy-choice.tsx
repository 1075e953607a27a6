import type { OnBusy } from "@sandbar/sdk";
import { Field } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";

const CHOICES: { value: OnBusy; label: string; hint: string }[] = [
  { value: "wait", label: "Wait for its end", hint: "at most 30 minutes for each context" },
  { value: "refuse", label: "Refuse", hint: "fails with CONTEXT_BUSY" },
  {
    value: "fork",
    label: "Wait, and hold up nothing after it",
    hint: "the kernel is copied where it can be",
  },
];

/** What happens to a context in which code runs just then. */
export function BusyChoice({ value, onChange }: { value: OnBusy; onChange: (value: OnBusy) => void }) {
  return (
    <Field label="While code runs">
      {({ id }) => <Select id={id} className="w-full" value={value} onChange={onChange} options={CHOICES} />}
    </Field>
  );
}
