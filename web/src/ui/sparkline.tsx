import { clsx } from "clsx";

/** A tiny line of the last values, from 0 to `max`. */
export function Sparkline({
  values,
  max,
  label,
  width = 72,
  height = 20,
  className,
}: {
  values: readonly number[];
  /** What the top stands for; the largest value when left out. */
  max?: number;
  /** What it shows, in words, with its last value. */
  label: string;
  width?: number;
  height?: number;
  className?: string;
}) {
  const top = Math.max(max ?? 0, ...(max === undefined ? values : []), Number.MIN_VALUE);
  const x = (index: number) => (values.length < 2 ? width : (index / (values.length - 1)) * width);
  const y = (value: number) => height - 1 - Math.min(1, value / top) * (height - 2);
  const line = values.map((value, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return (
    <svg
      role="img"
      aria-label={label}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      className={clsx("shrink-0 text-accent", className)}
    >
      <line x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} stroke="var(--line)" />
      {values.length > 1 && (
        <>
          <polygon points={`0,${height} ${line} ${width},${height}`} fill="currentColor" opacity="0.14" />
          <polyline
            points={line}
            fill="none"
            stroke="currentColor"
            strokeWidth="1.25"
            strokeLinejoin="round"
          />
        </>
      )}
    </svg>
  );
}
