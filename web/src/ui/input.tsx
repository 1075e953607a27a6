import { clsx } from "clsx";
import type { ComponentProps, ReactNode } from "react";

const LOOK =
  "w-full rounded-md border border-line-strong bg-surface px-2.5 text-sm text-text transition-colors focus:border-accent focus:outline-none focus-visible:outline-none focus:ring-2 focus:ring-accent/25 aria-invalid:border-danger disabled:opacity-60";

export interface InputProps extends ComponentProps<"input"> {
  /** Stands at the left, for instance a magnifier. */
  icon?: ReactNode;
  mono?: boolean;
}

export function Input({ icon, mono, className, ...rest }: InputProps) {
  const input = (
    <input
      spellCheck={false}
      autoComplete="off"
      className={clsx(LOOK, "h-8", icon && "pl-8", mono && "font-mono text-xs", !icon && className)}
      {...rest}
    />
  );
  if (!icon) return input;
  return (
    <span className={clsx("relative block", className)}>
      <span className="pointer-events-none absolute inset-y-0 left-2.5 flex items-center text-faint [&_svg]:size-3.5">
        {icon}
      </span>
      {input}
    </span>
  );
}

export function TextArea({ mono, className, ...rest }: ComponentProps<"textarea"> & { mono?: boolean }) {
  return (
    <textarea
      spellCheck={false}
      className={clsx(LOOK, "min-h-16 resize-y py-1.5", mono && "font-mono text-xs", className)}
      {...rest}
    />
  );
}
