import { clsx } from "clsx";
import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";

/** A dialog with a title, a body that scrolls, and a row of actions. */
export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  footer,
  width = "md",
  children,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  description?: ReactNode;
  footer?: ReactNode;
  width?: "sm" | "md" | "lg" | "xl";
  children?: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
        <Radix.Content
          {...(description ? {} : { "aria-describedby": undefined })}
          className={clsx(
            "fixed top-[8vh] left-1/2 z-40 flex max-h-[84vh] w-[calc(100vw-1.5rem)] -translate-x-1/2 flex-col rounded-xl bg-surface shadow-pop outline-none",
            { sm: "max-w-sm", md: "max-w-lg", lg: "max-w-2xl", xl: "max-w-4xl" }[width],
          )}
        >
          <header className="flex items-start gap-3 px-4 pt-3.5 pb-2">
            <div className="min-w-0 flex-1">
              <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
              {description && (
                <Radix.Description className="mt-0.5 text-sm text-muted">{description}</Radix.Description>
              )}
            </div>
            <Radix.Close
              aria-label="Close"
              className="-mr-1 inline-flex size-7 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text"
            >
              <X className="size-4" />
            </Radix.Close>
          </header>
          {children && <div className="min-h-0 flex-1 overflow-y-auto px-4 pb-4">{children}</div>}
          {footer && (
            <footer className="flex flex-wrap items-center justify-end gap-2 border-t px-4 py-3">
              {footer}
            </footer>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
