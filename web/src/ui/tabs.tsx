import { clsx } from "clsx";
import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";

export interface Tab {
  value: string;
  label: ReactNode;
  content: ReactNode;
}

/** Tabs inside a page. Tabs that have an address of their own are links: see TabLinks. */
export function Tabs({
  tabs,
  value,
  onChange,
  className,
}: {
  tabs: readonly Tab[];
  value: string;
  onChange: (value: string) => void;
  className?: string;
}) {
  return (
    <Radix.Root value={value} onValueChange={onChange} className={className}>
      <Radix.List className="flex gap-4 overflow-x-auto border-b">
        {tabs.map((tab) => (
          <Radix.Trigger key={tab.value} value={tab.value} className={TAB_LOOK}>
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="pt-3">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}

export const TAB_LOOK = clsx(
  "-mb-px inline-flex h-8.5 shrink-0 items-center gap-1.5 border-b-2 border-transparent text-sm text-muted transition-colors hover:text-text [&_svg]:size-3.5",
  "data-[state=active]:border-accent data-[state=active]:text-text data-[status=active]:border-accent data-[status=active]:text-text",
);
