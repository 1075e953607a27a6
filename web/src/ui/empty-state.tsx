import type { ReactNode } from "react";

/** Nothing is here: says what would be, and how it comes. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center px-4 py-16 text-center">
      {icon && <div className="mb-3 text-faint [&_svg]:size-7 [&_svg]:stroke-[1.5]">{icon}</div>}
      <h2 className="text-base font-semibold">{title}</h2>
      {children && <div className="mt-1 text-sm text-muted">{children}</div>}
      {action && <div className="mt-4 flex gap-2">{action}</div>}
    </div>
  );
}
