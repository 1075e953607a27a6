import { clsx } from "clsx";
import { DropdownMenu as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Kbd } from "./kbd.tsx";

export interface MenuItem {
  label: string;
  icon?: ReactNode;
  shortcut?: string;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
}

/** Items below a button; `null` draws a line between groups. */
export function Menu({
  trigger,
  items,
  align = "end",
}: {
  trigger: ReactNode;
  items: readonly (MenuItem | null)[];
  align?: "start" | "end";
}) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 min-w-44 animate-appear rounded-lg bg-raised p-1 shadow-pop"
        >
          {items.map((item, index) =>
            item === null ? (
              <Radix.Separator key={index} className="my-1 h-px bg-line" />
            ) : (
              <Radix.Item
                key={item.label}
                disabled={item.disabled}
                onSelect={item.onSelect}
                className={clsx(
                  "flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 text-sm outline-none data-disabled:cursor-not-allowed data-disabled:opacity-50 [&_svg]:size-3.5",
                  item.danger
                    ? "text-danger data-highlighted:bg-danger-soft"
                    : "data-highlighted:bg-hover [&_svg]:text-faint",
                )}
              >
                {item.icon}
                <span className="flex-1">{item.label}</span>
                {item.shortcut && <Kbd keys={item.shortcut} />}
              </Radix.Item>
            ),
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
