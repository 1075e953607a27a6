import { clsx } from "clsx";

/** Stands where something will be, in its size, so that nothing jumps. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={clsx("animate-pulse-soft rounded bg-hover", className)} />;
}
