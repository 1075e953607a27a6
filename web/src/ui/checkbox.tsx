import { clsx } from "clsx";
import { Check, Minus } from "lucide-react";
import { Checkbox as Radix } from "radix-ui";

export function Checkbox({
  checked,
  onChange,
  label,
  id,
  className,
}: {
  checked: boolean | "indeterminate";
  onChange: (checked: boolean) => void;
  /** When no visible label names it. */
  label?: string;
  id?: string;
  className?: string;
}) {
  return (
    <Radix.Root
      id={id}
      checked={checked}
      onCheckedChange={(next) => onChange(next === true)}
      aria-label={label}
      className={clsx(
        "inline-flex size-4 shrink-0 items-center justify-center rounded border border-line-strong bg-surface align-middle",
        "data-[state=checked]:border-transparent data-[state=checked]:bg-accent-solid data-[state=indeterminate]:border-transparent data-[state=indeterminate]:bg-accent-solid",
        className,
      )}
    >
      <Radix.Indicator className="text-on-accent [&_svg]:size-3">
        {checked === "indeterminate" ? <Minus /> : <Check strokeWidth={3} />}
      </Radix.Indicator>
    </Radix.Root>
  );
}
