import { useQuery } from "@tanstack/react-query";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { useMe } from "../../api/me.ts";
import { formatBytes } from "../../ui/bytes.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Meter } from "../../ui/meter.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { preciseDuration } from "../../ui/time.tsx";

const MB = 1024 * 1024;

const whole = (value: number) => value.toLocaleString(undefined, { maximumFractionDigits: 1 });

const counted = (n: number, word: string) => `${whole(n)} ${word}${n === 1 ? "" : "s"}`;

/** What the tenant has at once, against what it may have. */
export function Quotas({ tenant }: { tenant: string }) {
  const me = useMe();
  const { data, error, refetch } = useQuery({
    queryKey: tenant === me.tenant ? keys.usage : [...keys.usage, tenant],
    queryFn: () => sandbar.usage(tenant === me.tenant ? undefined : tenant),
    refetchInterval: 15_000,
  });
  return (
    <section aria-label="Quotas" className="rounded-lg border bg-surface px-3 py-2.5">
      <h2 className="mb-1.5 font-semibold">Quotas and totals</h2>
      {error && !data ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton className="h-24 w-full" />
      ) : (
        <div className="space-y-2">
          <Quota
            name="Sessions at once"
            used={data.live_sessions}
            of={data.limits.live_sessions}
            text={whole}
          />
          <Quota
            name="Bytes of artifacts"
            used={data.artifacts.bytes}
            of={data.limits.artifact_bytes}
            text={formatBytes}
          />
          <Quota
            name="Memory of its sessions"
            used={data.reserved.memory_mb * MB}
            of={data.limits.memory_mb === null ? null : data.limits.memory_mb * MB}
            text={formatBytes}
          />
          <Quota name="CPUs of its sessions" used={data.reserved.cpus} of={data.limits.cpus} text={whole} />
          <Quota name="Volumes" used={data.volumes.count} of={data.limits.volumes} text={whole} />
          <Quota
            name="What volumes may hold"
            used={data.volumes.size_mb * MB}
            of={data.limits.volume_mb === null ? null : data.limits.volume_mb * MB}
            text={formatBytes}
          />
          <Quota
            name="Network by name, today"
            used={data.egress.bytes_today}
            of={data.limits.egress_mb_per_day === null ? null : data.limits.egress_mb_per_day * MB}
            text={formatBytes}
          />
          <Quota name="Artifacts" used={data.artifacts.count} of={data.limits.artifact_count} text={whole} />
          <p className="text-xs text-muted tabular-nums">
            Ever: {counted(data.sessions, "session")}, {counted(data.executions, "execution")},{" "}
            {preciseDuration(data.seconds * 1000)} of them running, {formatBytes(data.bytes)} of output
          </p>
        </div>
      )}
    </section>
  );
}

function Quota({
  name,
  used,
  of,
  text,
}: {
  name: string;
  used: number;
  of: number | null;
  text: (value: number) => string;
}) {
  return (
    <div>
      <div className="mb-0.5 flex justify-between gap-3 text-xs">
        <span>{name}</span>
        <span className="tabular-nums">
          {text(used)} <span className="text-faint">{of === null ? "no limit" : `of ${text(of)}`}</span>
        </span>
      </div>
      {of !== null && <Meter value={used} max={of} label={name} />}
    </div>
  );
}
