import { useNow } from "./use-now.ts";

const STEPS: [limit: number, size: number, unit: string][] = [
  [60, 1, "s"],
  [3600, 60, "m"],
  [86_400, 3600, "h"],
  [Number.POSITIVE_INFINITY, 86_400, "d"],
];

/** "42s", "3m", "5h", "12d": short enough for a column. */
export function shortDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [, size, unit] = STEPS.find(([limit]) => whole < limit)!;
  return `${Math.floor(whole / size)}${unit}`;
}

/** How long an execution took: "12 ms", "3.4 s", "2m 05s". */
export function preciseDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)}m ${String(s % 60).padStart(2, "0")}s`;
  return `${Math.floor(s / 3600)}h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}m`;
}

/** Relative, and absolute as its title. `style="age"` leaves out "ago" and "in". */
export function Time({
  at,
  style = "relative",
}: {
  at: string | null | undefined;
  style?: "relative" | "age";
}) {
  const now = useNow();
  if (!at) return <span className="text-faint">–</span>;
  const seconds = (now - Date.parse(at)) / 1000;
  const text = shortDuration(Math.abs(seconds));
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} className="tabular-nums whitespace-nowrap">
      {style === "age" ? text : seconds < -1 ? `in ${text}` : seconds < 5 ? "just now" : `${text} ago`}
    </time>
  );
}
