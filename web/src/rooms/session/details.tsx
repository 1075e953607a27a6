import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { keys } from "../../api/keys.ts";
import { Bytes, formatBytes } from "../../ui/bytes.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Meter } from "../../ui/meter.tsx";
import { Time } from "../../ui/time.tsx";
import { isAlive, useSession } from "./use-session.ts";

/** What the session is made of, how much of it is used, and how other programs reach it. */
export function Details() {
  const session = useSession();
  const { info } = session;
  const alive = isAlive(session);
  const metrics = useQuery({
    queryKey: keys.metrics(session.id),
    queryFn: () => session.metrics(),
    enabled: alive,
    refetchInterval: 5000,
    retry: false,
  });
  const now = metrics.data?.data.at(-1);
  const limits = metrics.data?.limits;
  const labels = Object.entries(info.labels);
  return (
    <div className="mx-auto grid max-w-5xl gap-x-10 gap-y-6 px-4 py-5 sm:px-6 lg:grid-cols-2">
      <Part title="Session">
        <Row name="Id">
          <code className="truncate">{session.id}</code>
          <CopyButton text={session.id} label="Copy id" />
        </Row>
        <Row name="Key">
          <span className="truncate">{session.key}</span>
        </Row>
        <Row name="Runtime">{languageName(info.runtime)}</Row>
        <Row name="Image">
          <code className="truncate">{info.image ?? "the runtime's own"}</code>
        </Row>
        <Row name="Host">
          <code className="truncate">{info.host_id ?? "–"}</code>
        </Row>
        <Row name="Labels">
          {labels.length === 0 ? (
            <span className="text-faint">none</span>
          ) : (
            <span className="flex flex-wrap gap-1">
              {labels.map(([name, value]) => (
                <span key={name} className="rounded bg-hover px-1.5 text-xs">
                  {name}={value}
                </span>
              ))}
            </span>
          )}
        </Row>
      </Part>
      <Part title="Walls">
        <Row name="Storage">
          {info.storage === "TMPFS"
            ? "/session is memory, gone with the session"
            : "/session is a folder of the host"}
        </Row>
        <Row name="Datasets">
          {
            { NONE: "none", LOCAL_RO: "the host's, read-only at /data", API: "staged into /session/data" }[
              info.datasets.access
            ]
          }
        </Row>
        <Row name="Network">
          {info.network === "none" ? "none but loopback" : "the internet, not the host or private ranges"}
        </Row>
        <Row name="Cell timeout">{info.limits.timeout_s} s</Row>
      </Part>
      <Part title="Use">
        <Usage
          name="CPU"
          value={now?.cpu_percent}
          max={limits && limits.cpus * 100}
          text={now && `${Math.round(now.cpu_percent)} %`}
          of={`${info.limits.cpus} CPUs`}
        />
        <Usage
          name="Memory"
          value={now?.memory_bytes}
          max={limits?.memory_bytes}
          text={now && formatBytes(now.memory_bytes)}
          of={formatBytes(info.limits.memory_mb * 1024 * 1024)}
        />
        <Usage
          name="Processes"
          value={now?.processes}
          max={limits?.pids}
          text={now && String(now.processes)}
          of={String(info.limits.pids)}
        />
        {limits?.disk_bytes != null && (
          <Usage
            name="Files in memory"
            value={now?.disk_bytes ?? 0}
            max={limits.disk_bytes}
            text={formatBytes(now?.disk_bytes ?? 0)}
            of={formatBytes(limits.disk_bytes)}
          />
        )}
        {limits?.disk_bytes == null && (
          <Row name="Files in memory">
            <Bytes value={info.limits.tmpfs_mb * 1024 * 1024} /> at most
          </Row>
        )}
      </Part>
      <Part title="Life">
        <Row name="Created">
          <Time at={info.created_at} />
        </Row>
        <Row name="Last used">
          <Time at={info.last_used_at} />
        </Row>
        <Row name="Ends">{alive ? <Time at={info.expires_at} /> : info.status}</Row>
      </Part>
      <section className="lg:col-span-2">
        <h2 className="mb-2 font-medium">From a program</h2>
        <CodeSnippet
          code={`curl -s ${location.origin}/v1/sessions/${session.id}/executions \\
  -H "Authorization: Bearer $SANDBAR_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"code": "print(6 * 7)"}'`}
        />
      </section>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-1 font-medium">{title}</h2>
      <dl className="divide-y">{children}</dl>
    </section>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex min-h-8 items-center gap-3 py-0.5">
      <dt className="w-32 shrink-0 text-muted">{name}</dt>
      <dd className="flex min-w-0 flex-1 items-center gap-1">{children}</dd>
    </div>
  );
}

function Usage({
  name,
  value,
  max,
  text,
  of,
}: {
  name: string;
  value: number | undefined;
  max: number | undefined;
  text: string | undefined;
  of: string;
}) {
  return (
    <Row name={name}>
      <span className="w-40 shrink-0 tabular-nums">
        {text ?? "–"} <span className="text-faint">of {of}</span>
      </span>
      {value !== undefined && max !== undefined && (
        <Meter value={value} max={max} label={name} className="flex-1" />
      )}
    </Row>
  );
}
