import type { Artifact } from "@sandbar/sdk";
import { Link } from "@tanstack/react-router";
import { Package } from "lucide-react";
import { Bytes } from "../../ui/bytes.tsx";
import { Checkbox } from "../../ui/checkbox.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/time.tsx";

/** What a list of artifacts says of each. */
export function artifactColumns({
  rows,
  chosen,
  onChoose,
  sessionName,
}: {
  rows: readonly Artifact[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[], on: boolean) => void;
  /** Null where all are one session's. */
  sessionName: ((id: string) => string | undefined) | null;
}): Column<Artifact>[] {
  return [
    {
      id: "choose",
      header: (
        <Checkbox
          label="Choose all"
          checked={
            rows.length > 0 && rows.every(({ id }) => chosen.has(id))
              ? true
              : rows.some(({ id }) => chosen.has(id))
                ? "indeterminate"
                : false
          }
          onChange={(on) =>
            onChoose(
              rows.map(({ id }) => id),
              on,
            )
          }
        />
      ),
      width: "1rem",
      cell: ({ id, name }) => (
        <Checkbox label={`Choose ${name}`} checked={chosen.has(id)} onChange={(on) => onChoose([id], on)} />
      ),
    },
    {
      id: "name",
      header: "Name",
      width: "minmax(7rem, 3fr)",
      cell: ({ name }) => <Name name={name} />,
    },
    {
      id: "size",
      header: "Size",
      width: "4.5rem",
      align: "right",
      cell: ({ size }) => <Bytes value={size} />,
    },
    {
      id: "type",
      header: "Type",
      width: "minmax(6rem, 1fr)",
      from: "md",
      cell: ({ mime }) => <span className="text-muted">{mime}</span>,
    },
    ...(sessionName
      ? [
          {
            id: "session",
            header: "Session",
            width: "minmax(6rem, 1fr)",
            from: "lg" as const,
            cell: ({ session_id }: Artifact) => (
              <Link
                to="/sessions/$id"
                params={{ id: session_id }}
                className="text-muted hover:text-accent hover:underline"
                title={session_id}
              >
                {sessionName(session_id) ?? <code className="text-xs">…{session_id.slice(-8)}</code>}
              </Link>
            ),
          },
        ]
      : []),
    {
      id: "hash",
      header: "SHA-256",
      width: "6.5rem",
      from: "xl",
      cell: ({ sha256 }) => (
        <code className="text-xs text-muted" title={sha256}>
          {sha256.slice(0, 10)}
        </code>
      ),
    },
    {
      id: "age",
      header: "Age",
      width: "3rem",
      align: "right",
      cell: ({ created_at }) => <Time at={created_at} style="age" />,
    },
  ];
}

/** What matters is at the end of a long path. */
function Name({ name }: { name: string }) {
  const cut = name.lastIndexOf("/") + 1;
  return (
    <span className="flex min-w-0 items-center gap-2" title={name}>
      <Package className="size-3.5 shrink-0 text-faint" aria-hidden />
      <span className="min-w-0 truncate">
        {cut > 0 && <span className="text-faint">{name.slice(0, cut)}</span>}
        <span className="font-medium">{name.slice(cut)}</span>
      </span>
    </span>
  );
}
