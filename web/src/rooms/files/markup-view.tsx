import type { FileEntry, Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { keys } from "../../api/keys.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { UntrustedFrame } from "../../ui/untrusted-frame.tsx";
import { pathOf } from "./entry-path.ts";
import { plainName } from "./shown-name.ts";

/** HTML and SVG as they look, where they can do no harm. */
export function MarkupView({ session, entry }: { session: Session; entry: FileEntry }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.files(session.id, entry.path), "markup", entry.etag],
    queryFn: ({ signal }) => session.files.readText(pathOf(entry), { signal }),
    gcTime: 0,
  });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} className="m-3" />;
  if (data === undefined) return <Skeleton className="m-4 h-48" />;
  return (
    <>
      <p className="shrink-0 border-b px-4 py-1.5 text-xs text-muted">
        Shown apart from the console: its scripts run, but reach neither your session nor a network.
      </p>
      <div className="min-h-0 flex-1 p-4">
        <UntrustedFrame html={data} title={plainName(entry.name)} fill />
      </div>
    </>
  );
}
