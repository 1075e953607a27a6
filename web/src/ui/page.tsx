import type { ReactNode } from "react";

/** A room's frame: a row of filters and actions, and a body that fills what is left. The crumbs show the title. */
export function Page({
  title,
  filters,
  actions,
  children,
}: {
  title: string;
  /** At the left: search, filters, what is chosen. */
  filters?: ReactNode;
  /** At the right; the main one last. */
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className="flex h-full min-h-0 flex-col px-4 pt-3 pb-4 sm:px-6">
      <h1 className="sr-only">{title}</h1>
      {(filters || actions) && (
        <div className="mb-3 flex min-h-8 flex-wrap items-center gap-2">
          {filters && (
            <div className="flex min-w-0 basis-full flex-wrap items-center gap-2 sm:flex-1 sm:basis-auto">
              {filters}
            </div>
          )}
          {actions && <div className="flex flex-wrap items-center gap-2 sm:ml-auto">{actions}</div>}
        </div>
      )}
      {children}
    </div>
  );
}
