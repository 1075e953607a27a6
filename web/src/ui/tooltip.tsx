import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Kbd } from "./kbd.tsx";

export const TooltipProvider = Radix.Provider;

/** For what has no visible label; never the only place of something that must be known. */
export function Tooltip({
  text,
  shortcut,
  side,
  children,
}: {
  text: ReactNode;
  shortcut?: string;
  side?: "top" | "right" | "bottom" | "left";
  children: ReactNode;
}) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-50 flex max-w-80 animate-appear items-center gap-2 rounded-md bg-raised px-2 py-1 text-xs text-text shadow-pop"
        >
          {text}
          {shortcut && <Kbd keys={shortcut} />}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
