import { clsx } from "clsx";
import type { ComponentProps, ReactNode } from "react";
import { Tooltip } from "./tooltip.tsx";

export interface IconButtonProps extends Omit<ComponentProps<"button">, "aria-label" | "title"> {
  /** What it does: read by screen readers, shown as a tooltip. */
  label: string;
  icon: ReactNode;
  /** A key that does the same, shown in the tooltip. */
  shortcut?: string;
  danger?: boolean;
}

export function IconButton({ label, icon, shortcut, danger, className, ...rest }: IconButtonProps) {
  return (
    <Tooltip text={label} shortcut={shortcut}>
      <button
        type="button"
        aria-label={label}
        className={clsx(
          "inline-flex size-7 shrink-0 items-center justify-center rounded-md text-muted transition-colors",
          "disabled:cursor-not-allowed disabled:opacity-40 [&_svg]:size-4",
          danger ? "hover:bg-danger-soft hover:text-danger" : "hover:bg-hover hover:text-text",
          className,
        )}
        {...rest}
      >
        {icon}
      </button>
    </Tooltip>
  );
}
