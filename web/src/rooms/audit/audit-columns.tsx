/** @module The columns of the audit log. */
import type { AuditEntry } from "@sandbar/sdk";
import { Badge } from "../../ui/badge.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";
import type { KeyName } from "./use-key-names.ts";

export function auditColumns({
  keyName,
  withTenant,
}: {
  keyName: KeyName;
  withTenant: boolean;
}): Column<AuditEntry>[] {
  return [
    {
      id: "at",
      header: "When",
      width: "5.5rem",
      cell: ({ last_at }) => (
        <span className="text-muted">
          <Time at={last_at} />
        </span>
      ),
    },
    {
      id: "action",
      header: "What",
      width: "minmax(8rem, 1.2fr)",
      cell: ({ action, count }) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-medium" title={action}>
            {action}
          </span>
          {count > 1 && <span className="shrink-0 text-xs text-faint tabular-nums">×{count}</span>}
        </span>
      ),
    },
    {
      id: "target",
      header: "To what",
      width: "minmax(8rem, 1.5fr)",
      from: "md",
      cell: ({ target }) => <Target target={target} />,
    },
    {
      id: "by",
      header: "Who",
      width: "minmax(7rem, 1.3fr)",
      from: "sm",
      cell: (entry) => <Who entry={entry} keyName={keyName} />,
    },
    ...(withTenant
      ? [
          {
            id: "tenant",
            header: "Tenant",
            width: "minmax(4rem, 0.6fr)",
            from: "lg",
            cell: ({ tenant }: AuditEntry) => <code className="text-xs text-muted">{tenant ?? "–"}</code>,
          } satisfies Column<AuditEntry>,
        ]
      : []),
    {
      id: "address",
      header: "From",
      width: "6.5rem",
      from: "lg",
      cell: ({ address }) => <span className="text-muted tabular-nums">{address ?? "–"}</span>,
    },
    {
      id: "result",
      header: "Result",
      width: "minmax(5.5rem, 11rem)",
      cell: ({ result }) => <Result result={result} />,
    },
  ];
}

/** Ids that were made together begin alike: what tells them apart stays in sight. */
function Target({ target }: { target: string | null }) {
  if (target === null) return <span className="text-faint">–</span>;
  const tail = /^[a-z]+_[0-9a-z]{20,}$/.test(target) ? 8 : 0;
  const head = target.length - tail;
  return (
    <code className="text-xs text-muted" title={target}>
      <span className="sr-only">{target}</span>
      <span aria-hidden className="flex min-w-0">
        <span className="min-w-0 truncate">{target.slice(0, head)}</span>
        <span className="shrink-0">{target.slice(head)}</span>
      </span>
    </code>
  );
}

export function Result({ result }: { result: string }) {
  if (result === "ok") return <Badge>done</Badge>;
  return (
    <Badge tone="danger" className="max-w-full">
      <span className="truncate" title={result}>
        {result}
      </span>
    </Badge>
  );
}

/** A person knows keys by their names; programs by their ids. */
function Who({ entry, keyName }: { entry: AuditEntry; keyName: KeyName }) {
  const { key_id, token_id, via } = entry;
  const id = token_id ?? key_id;
  if (!id) return <span className="text-faint">{via === "host" ? "a host" : "nobody known"}</span>;
  return (
    <span title={id}>
      {keyName(id) ?? <code className="text-xs">{id}</code>}
      {via && via !== "key" && <span className="text-faint"> · {via}</span>}
    </span>
  );
}
