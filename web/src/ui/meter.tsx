import { clsx } from "clsx";

/** How much of something is used; turns amber, then red, as it fills. */
export function Meter({
  value,
  max,
  label,
  calm = false,
  className,
}: {
  value: number;
  max: number;
  label: string;
  /** Full is good: progress. */
  calm?: boolean;
  className?: string;
}) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={0}
      aria-valuemax={max}
      className={clsx("h-1.5 overflow-hidden rounded-full bg-hover", className)}
    >
      <div
        className={clsx(
          "h-full rounded-full",
          calm || share <= 0.75 ? "bg-accent" : share > 0.9 ? "bg-danger" : "bg-warn",
        )}
        style={{ width: `${share * 100}%` }}
      />
    </div>
  );
}
