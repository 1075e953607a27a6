/** @module The columns of the list of sessions. What a narrow window leaves out stands in the session's own room. */
import type { Sample, SessionRecord } from "@sandbar/sdk";
import { Link } from "@tanstack/react-router";
import { CircleStop } from "lucide-react";
import { isLive } from "../../api/session-live.ts";
import { Badge } from "../../ui/badge.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Sparkline } from "../../ui/sparkline.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

const MB = 1024 * 1024;

export interface ColumnsOptions {
  chosen: ReadonlySet<string>;
  /** Of the rows that are shown, those that can be chosen. */
  liveRows: readonly SessionRecord[];
  onChoose: (chosen: ReadonlySet<string>) => void;
  metrics: ReadonlyMap<string, readonly Sample[]> | undefined;
  hostName: (id: string) => string;
  onStop: (id: string) => void;
}

export function sessionColumns(options: ColumnsOptions): Column<SessionRecord>[] {
  const { metrics, hostName, onStop } = options;
  const samplesOf = (session: SessionRecord) =>
    (isLive(session) ? metrics?.get(session.id) : undefined) ?? [];
  return [
    choose(options),
    { id: "state", header: "State", width: "5.5rem", cell: (session) => <StateDot state={session.status} /> },
    {
      id: "key",
      header: "Session",
      width: "minmax(9rem, 1fr)",
      cell: (session) => <Name session={session} />,
    },
    {
      id: "runtime",
      header: "Runtime",
      width: "5rem",
      from: "sm",
      cell: ({ runtime, engine }) => (
        <span className="flex items-center gap-1.5 text-muted">
          {languageName(runtime)}
          {engine === "wasm" && <Badge>wasm</Badge>}
        </span>
      ),
    },
    {
      id: "cpu",
      header: "CPU",
      width: "6.25rem",
      from: "md",
      cell: (session) => (
        <Use
          values={samplesOf(session).map(({ cpu_percent }) => cpu_percent)}
          max={Math.max(100, session.limits.cpus * 100)}
          text={(percent) => `${Math.round(percent)} %`}
          label={(now) => `CPU, now ${now}`}
        />
      ),
    },
    {
      id: "memory",
      header: "Memory",
      width: "7.5rem",
      from: "lg",
      cell: (session) => (
        <Use
          values={samplesOf(session).map(({ memory_bytes }) => memory_bytes)}
          max={session.limits.memory_mb * MB}
          text={formatBytes}
          label={(now) => `Memory, now ${now} of ${session.limits.memory_mb} MB`}
        />
      ),
    },
    {
      id: "host",
      header: "Host",
      width: "minmax(4rem, 8rem)",
      from: "lg",
      cell: ({ host_id }) => (
        <span className="text-muted" title={host_id ?? undefined}>
          {host_id ? hostName(host_id) : "–"}
        </span>
      ),
    },
    { ...age("used", "Used", ({ last_used_at }) => last_used_at), from: "lg" },
    age("age", "Age", ({ created_at }) => created_at),
    {
      id: "stop",
      header: <span className="sr-only">Actions</span>,
      width: "1.75rem",
      from: "md",
      cell: (session) =>
        isLive(session) && (
          <IconButton
            label={`Stop ${session.key}`}
            icon={<CircleStop />}
            danger
            disabled={session.status === "stopping"}
            onClick={() => onStop(session.id)}
          />
        ),
    },
  ];
}

function choose({ chosen, liveRows, onChoose }: ColumnsOptions): Column<SessionRecord> {
  const all = liveRows.length > 0 && liveRows.every(({ id }) => chosen.has(id));
  const some = liveRows.some(({ id }) => chosen.has(id));
  return {
    id: "choose",
    width: "1rem",
    from: "sm",
    header: (
      <Checkbox
        label="Choose all"
        checked={all ? true : some ? "indeterminate" : false}
        onChange={(on) => onChoose(new Set(on ? liveRows.map(({ id }) => id) : []))}
      />
    ),
    cell: (session) =>
      isLive(session) && (
        <Checkbox
          label={`Choose ${session.key}`}
          checked={chosen.has(session.id)}
          onChange={(on) =>
            onChoose(new Set(on ? [...chosen, session.id] : [...chosen].filter((id) => id !== session.id)))
          }
        />
      ),
  };
}

function age(id: string, header: string, at: (session: SessionRecord) => string): Column<SessionRecord> {
  return {
    id,
    header,
    width: "2.75rem",
    align: "right",
    cell: (session) => (
      <span className="text-muted">
        <Time at={at(session)} style="age" />
      </span>
    ),
  };
}

/** How much it uses: the last minutes as a line, and now as a figure. */
function Use({
  values,
  max,
  text,
  label,
}: {
  values: readonly number[];
  max: number;
  text: (value: number) => string;
  label: (now: string) => string;
}) {
  const last = values.at(-1);
  if (last === undefined) return null;
  const now = text(last);
  return (
    <span className="flex items-center justify-between gap-2">
      <Sparkline values={values} max={max} label={label(now)} width={52} />
      <span className="text-xs tabular-nums text-muted">{now}</span>
    </span>
  );
}

/** The name has the room that it needs; labels take what is left. */
function Name({ session }: { session: SessionRecord }) {
  const labels = Object.entries(session.labels);
  return (
    <span className="flex min-w-0 items-center gap-2">
      <Link
        to="/sessions/$id"
        params={{ id: session.id }}
        title={session.key}
        className="max-w-full shrink-0 truncate rounded font-medium hover:text-accent"
      >
        {session.key}
      </Link>
      {session.error && <code className="truncate text-xs text-danger">{session.error.code}</code>}
      {labels.slice(0, 3).map(([name, value]) => (
        <span
          key={name}
          className="hidden min-w-8 shrink truncate rounded bg-hover px-1.5 text-xs text-muted lg:inline"
        >
          {value ? `${name}=${value}` : name}
        </span>
      ))}
    </span>
  );
}
