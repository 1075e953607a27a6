import { clsx } from "clsx";
import { Check, ChevronDown } from "lucide-react";
import { Select as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { cspNonce } from "../api/csp-nonce.ts";

export interface SelectOption<T extends string> {
  value: T;
  label: ReactNode;
  /** A second line in the list. */
  hint?: string;
  disabled?: boolean;
}

export function Select<T extends string>({
  value,
  onChange,
  options,
  size = "md",
  className,
  label,
  id,
  disabled,
}: {
  value: T;
  onChange: (value: T) => void;
  options: readonly SelectOption<T>[];
  size?: "sm" | "md";
  className?: string;
  /** When no Field around it names it. */
  label?: string;
  id?: string;
  disabled?: boolean;
}) {
  return (
    <Radix.Root value={value} onValueChange={(next) => onChange(next as T)} disabled={disabled}>
      <Radix.Trigger
        id={id}
        aria-label={label}
        className={clsx(
          "inline-flex items-center justify-between gap-2 rounded-md border border-line-strong bg-surface text-left text-text transition-colors hover:bg-hover disabled:opacity-60",
          size === "sm" ? "h-6.5 px-2 text-xs" : "h-8 px-2.5 text-sm",
          className,
        )}
      >
        <span className="truncate">
          <Radix.Value>{options.find((option) => option.value === value)?.label ?? value}</Radix.Value>
        </span>
        <Radix.Icon asChild>
          <ChevronDown className="size-3.5 shrink-0 text-faint" />
        </Radix.Icon>
      </Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          position="popper"
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-80 min-w-(--radix-select-trigger-width) animate-appear overflow-hidden rounded-lg bg-raised p-1 shadow-pop"
        >
          <Radix.Viewport nonce={cspNonce()}>
            {options.map((option) => (
              <Radix.Item
                key={option.value}
                value={option.value}
                disabled={option.disabled}
                className="flex cursor-pointer items-start gap-2 rounded-md py-1.5 pr-3 pl-7 text-sm outline-none data-disabled:opacity-50 data-highlighted:bg-hover relative"
              >
                <Radix.ItemIndicator className="absolute left-2 top-2">
                  <Check className="size-3.5 text-accent" />
                </Radix.ItemIndicator>
                <span>
                  <Radix.ItemText>{option.label}</Radix.ItemText>
                  {option.hint && <span className="block text-xs text-faint">{option.hint}</span>}
                </span>
              </Radix.Item>
            ))}
          </Radix.Viewport>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
