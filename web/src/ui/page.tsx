import type { ReactNode } from "react";

/** A room's frame: a title with its actions, and a body that fills what is left and scrolls. */
export function Page({
  title,
  actions,
  children,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className="flex h-full min-h-0 flex-col px-4 pt-4 pb-4 sm:px-6">
      <header className="mb-3 flex min-h-8 flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="flex-1 text-lg font-semibold tracking-tight">{title}</h1>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
