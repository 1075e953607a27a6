import type { Artifact } from "@sandbar/sdk";
import { Link } from "@tanstack/react-router";
import { Download, Trash2, X } from "lucide-react";
import { useMemo } from "react";
import { sandbar } from "../../api/client.ts";
import { Preview } from "../../preview/preview.tsx";
import type { PreviewSource } from "../../preview/preview-source.ts";
import { Bytes } from "../../ui/bytes.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Time } from "../../ui/time.tsx";
import { LinkPopover } from "./link-popover.tsx";

/** One artifact: what it is, a look into it, and what can be done with it. */
export function ArtifactPanel({
  artifact,
  session,
  onClose,
  onDelete,
}: {
  artifact: Artifact;
  /** Its key, where it is known. */
  session?: string;
  onClose: () => void;
  onDelete: () => void;
}) {
  const { id, name, size, mime, sha256 } = artifact;
  const source = useMemo<PreviewSource>(
    () => ({
      // The same bytes are the same look, whichever artifact has them.
      key: [sha256],
      name,
      mime,
      size,
      read: (start, end, signal) => sandbar.artifacts.readRange(id, start, end, { signal }),
    }),
    [id, name, mime, size, sha256],
  );
  const file = name.slice(name.lastIndexOf("/") + 1);
  const download = (
    <a
      href={contentUrl(id)}
      download={file}
      className="inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 text-sm font-medium hover:bg-hover [&_svg]:size-3.5"
    >
      <Download aria-hidden /> Download
    </a>
  );
  return (
    <section
      aria-label={`Artifact ${name}`}
      className="flex h-full min-h-0 flex-col overflow-hidden rounded-lg border bg-surface"
      onKeyDown={(event) => event.key === "Escape" && onClose()}
    >
      <header className="shrink-0 border-b px-3 pt-2 pb-2.5">
        <div className="flex items-center gap-2">
          <h2 className="min-w-0 flex-1 truncate text-base font-semibold" title={name}>
            {file}
          </h2>
          <IconButton label="Delete" danger icon={<Trash2 />} onClick={onDelete} />
          <IconButton label="Close" icon={<X />} onClick={onClose} />
        </div>
        <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-3 gap-y-0.5 text-xs [&_dt]:text-faint">
          <dt>Size</dt>
          <dd className="truncate">
            <Bytes value={size} /> <span className="text-faint">{mime}</span>
          </dd>
          <dt>From</dt>
          <dd className="flex min-w-0 items-center gap-1">
            <Link
              to="/sessions/$id"
              params={{ id: artifact.session_id }}
              className="min-w-0 truncate text-accent hover:underline"
              title={artifact.session_id}
            >
              {session ?? <code>{artifact.session_id}</code>}
            </Link>
            <span className="whitespace-nowrap text-muted">
              <Time at={artifact.created_at} />
            </span>
          </dd>
          {artifact.expires_at && (
            <>
              <dt>Kept</dt>
              <dd>
                until {new Date(artifact.expires_at).toLocaleDateString()} (<Time at={artifact.expires_at} />)
              </dd>
            </>
          )}
          <dt>Id</dt>
          <dd className="flex min-w-0 items-center">
            <code className="min-w-0 truncate">{id}</code>
            <CopyButton text={id} label="Copy the id" className="-my-1" />
          </dd>
          <dt>SHA-256</dt>
          <dd className="flex min-w-0 items-center">
            <code className="min-w-0 truncate">{sha256}</code>
            <CopyButton text={sha256} label="Copy the hash" className="-my-1" />
          </dd>
        </dl>
        <div className="mt-2 flex flex-wrap gap-2">
          {download}
          <LinkPopover artifact={artifact} />
        </div>
      </header>
      <div className="min-h-0 flex-1">
        <Preview key={id} source={source} action={download} />
      </div>
    </section>
  );
}

const contentUrl = (id: string) => `/v1/artifacts/${encodeURIComponent(id)}/content`;
