import { useQuery } from "@tanstack/react-query";
import { Eye, ShieldCheck, Sparkles } from "lucide-react";
import { Badge } from "../../ui/badge.tsx";
import { settingsQuery } from "./settings-query.ts";

/** Which model answers, and what it may do. */
export function ModelBar({ onSettings }: { onSettings: () => void }) {
  const { data } = useQuery(settingsQuery);
  return (
    <>
      <button
        type="button"
        onClick={onSettings}
        title="Model and settings"
        className="inline-flex h-7 min-w-0 items-center gap-1.5 rounded-md px-2 font-mono hover:bg-hover hover:text-text [&_svg]:size-3.5 [&_svg]:shrink-0"
      >
        <Sparkles aria-hidden />
        <span className="truncate">{data ? (data.model ?? "No model") : "…"}</span>
      </button>
      {data?.approval && (
        <Badge tone="warn">
          <ShieldCheck className="size-3" aria-hidden /> asks before code runs
        </Badge>
      )}
      {data?.read_only && (
        <Badge tone="accent">
          <Eye className="size-3" aria-hidden /> read-only: runs no code
        </Badge>
      )}
    </>
  );
}
