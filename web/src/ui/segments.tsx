import { ToggleGroup as Radix } from "radix-ui";
import type { ReactNode } from "react";

/** One of a few, all in sight. */
export function Segments<T extends string>({
  value,
  onChange,
  options,
  label,
}: {
  value: T;
  onChange: (value: T) => void;
  options: readonly { value: T; label: ReactNode }[];
  label: string;
}) {
  return (
    <Radix.Root
      type="single"
      aria-label={label}
      value={value}
      onValueChange={(next) => next && onChange(next as T)}
      className="inline-flex h-8 items-center rounded-md border border-line-strong bg-surface p-0.5"
    >
      {options.map((option) => (
        <Radix.Item
          key={option.value}
          value={option.value}
          className="inline-flex h-full items-center gap-1.5 rounded px-2.5 text-sm text-muted transition-colors hover:text-text data-[state=on]:bg-hover data-[state=on]:font-medium data-[state=on]:text-text"
        >
          {option.label}
        </Radix.Item>
      ))}
    </Radix.Root>
  );
}
