import type { FileEntry, Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { keys } from "../../api/keys.ts";
import { formatBytes } from "../../ui/bytes.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { pathOf } from "./entry-path.ts";
import { hexLines, kindByBytes } from "./file-kind.ts";

const HEX_BYTES = 2048;
const SNIFF_BYTES = 4096;

/** What the first bytes say that a file is, for those whose name says nothing. */
export function useKindByBytes(session: Session, entry: FileEntry, wanted: boolean) {
  return useQuery({
    queryKey: [...keys.files(session.id, entry.path), "kind", entry.etag],
    queryFn: async ({ signal }) => {
      if (entry.size === 0) return { kind: "text" as const, head: new Uint8Array() };
      const head = await session.files.read(pathOf(entry), { signal, start: 0, end: SNIFF_BYTES });
      return { kind: kindByBytes(head, entry.size <= SNIFF_BYTES), head };
    },
    enabled: wanted,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
}

export function BytesView({ session, entry }: { session: Session; entry: FileEntry }) {
  const { data, error, refetch } = useKindByBytes(session, entry, true);
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} className="m-3" />;
  if (!data) return <Skeleton className="m-4 h-48" />;
  const head = data.head.subarray(0, HEX_BYTES);
  return (
    <div className="min-h-0 flex-1 overflow-auto p-4">
      <p className="mb-3 text-sm text-muted">
        Not text. {entry.size > head.length ? `The first ${formatBytes(head.length)} of it:` : "Its bytes:"}
      </p>
      <pre className="font-mono text-xs leading-5">{hexLines(head)}</pre>
    </div>
  );
}
