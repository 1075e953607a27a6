import { clsx } from "clsx";
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";

export type ButtonTone = "primary" | "plain" | "quiet" | "danger";

const TONES: Record<ButtonTone, string> = {
  primary: "bg-accent-solid text-on-accent hover:bg-accent-solid-hover border-transparent",
  plain: "bg-surface text-text hover:bg-hover border-line-strong",
  quiet: "bg-transparent text-muted hover:bg-hover hover:text-text border-transparent",
  danger: "bg-danger-solid text-white hover:brightness-110 border-transparent",
};

export interface ButtonProps extends ComponentProps<"button"> {
  tone?: ButtonTone;
  size?: "sm" | "md";
  icon?: ReactNode;
  /** Shows that it is at work, and takes no second click. */
  busy?: boolean;
}

export function Button({
  tone = "plain",
  size = "md",
  icon,
  busy = false,
  className,
  children,
  disabled,
  type = "button",
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={clsx(
        "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors",
        "disabled:cursor-not-allowed disabled:opacity-50 [&_svg]:size-3.5 [&_svg]:shrink-0",
        size === "sm" ? "h-6.5 px-2 text-xs" : "h-8 px-3 text-sm",
        TONES[tone],
        className,
      )}
      {...rest}
    >
      {busy ? <LoaderCircle className="animate-spin" aria-hidden /> : icon}
      {children}
    </button>
  );
}
