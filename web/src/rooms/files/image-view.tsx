import type { FileEntry, Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { keys } from "../../api/keys.ts";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { pathOf } from "./entry-path.ts";
import { imageType } from "./file-kind.ts";
import { plainName } from "./shown-name.ts";

export function ImageView({ session, entry }: { session: Session; entry: FileEntry }) {
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.files(session.id, entry.path), "image", entry.etag],
    queryFn: async ({ signal }) => {
      const bytes = await session.files.read(pathOf(entry), { signal });
      return new Blob([bytes as Uint8Array<ArrayBuffer>], { type: imageType(entry.name) });
    },
    gcTime: 0,
  });
  const [url, setUrl] = useState<string | null>(null);
  const [size, setSize] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(data);
    setUrl(made);
    setBroken(false);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} className="m-3" />;
  if (!url) return <Skeleton className="m-4 h-48 max-w-md" />;
  if (broken) return <p className="p-4 text-sm text-muted">This is no image that a browser can show.</p>;
  return (
    <figure className="flex min-h-0 flex-1 flex-col items-center justify-center gap-2 overflow-auto bg-sunken p-4">
      <img
        src={url}
        alt={plainName(entry.name)}
        onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
          setSize(`${naturalWidth} × ${naturalHeight}`)
        }
        onError={() => setBroken(true)}
        className="max-h-full min-h-0 max-w-full rounded-sm object-contain shadow-pop"
      />
      <figcaption className="text-xs text-muted tabular-nums">{size}</figcaption>
    </figure>
  );
}
