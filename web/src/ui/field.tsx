import { type ReactNode, useId } from "react";

/** A label, its control and what is wrong with it. The control gets the ids through the function. */
export function Field({
  label,
  hint,
  error,
  className,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  className?: string;
  children: (ids: { id: string; "aria-describedby"?: string; "aria-invalid"?: boolean }) => ReactNode;
}) {
  const id = useId();
  const described = error || hint ? `${id}-about` : undefined;
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block text-xs font-medium text-muted">
        {label}
      </label>
      {children({ id, "aria-describedby": described, "aria-invalid": error ? true : undefined })}
      {(error || hint) && (
        <p id={described} className={error ? "mt-1 text-xs text-danger" : "mt-1 text-xs text-faint"}>
          {error || hint}
        </p>
      )}
    </div>
  );
}
