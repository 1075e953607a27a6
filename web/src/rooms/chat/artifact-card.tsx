import type { Artifact } from "@sandbar/sdk";
import { Download, Eye, EyeOff, FileText, Image as ImageIcon, Table2 } from "lucide-react";
import { useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { Preview } from "../../preview/preview.tsx";
import { kindOf, type PreviewSource } from "../../preview/preview-source.ts";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { LinkPopover } from "../artifacts/link-popover.tsx";

/** What the agent has made: to look at, to download, to pass on. It stays when the sandbox has gone. */
export function ArtifactCard({ artifact }: { artifact: Artifact }) {
  const { id, name, size, mime, sha256 } = artifact;
  const kind = kindOf(name, mime);
  const [open, setOpen] = useState(false);
  const source = useMemo<PreviewSource>(
    () => ({
      key: [sha256],
      ...{ name, mime, size },
      read: (start, end, signal) => sandbar.artifacts.readRange(id, start, end, { signal }),
    }),
    [id, name, mime, size, sha256],
  );
  const download = (
    <a
      href={`/v1/artifacts/${encodeURIComponent(id)}/content`}
      download={name.slice(name.lastIndexOf("/") + 1)}
      className="inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 font-medium hover:bg-hover [&_svg]:size-3.5"
    >
      <Download aria-hidden /> Download
    </a>
  );
  return (
    <section aria-label={`Artifact ${name}`} className="overflow-hidden rounded-lg border bg-surface">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2">
        <span className="text-faint [&_svg]:size-5 [&_svg]:stroke-[1.5]" aria-hidden>
          {kind === "image" || kind === "svg" ? (
            <ImageIcon />
          ) : kind === "csv" || kind === "parquet" ? (
            <Table2 />
          ) : (
            <FileText />
          )}
        </span>
        <div className="min-w-0 flex-1 basis-32 leading-tight">
          <p className="truncate font-medium" title={name}>
            {name}
          </p>
          <p className="truncate text-xs text-faint tabular-nums">
            {formatBytes(size)} · {mime}
          </p>
        </div>
        <div className="flex flex-wrap gap-1.5 max-sm:[&>*]:px-2">
          {kind && (
            <Button
              tone="quiet"
              icon={open ? <EyeOff /> : <Eye />}
              aria-expanded={open}
              onClick={() => setOpen(!open)}
            >
              {open ? "Hide" : "Preview"}
            </Button>
          )}
          <LinkPopover artifact={artifact} />
          {download}
        </div>
      </div>
      {open && (
        <div className="h-80 border-t">
          <Preview source={source} action={download} />
        </div>
      )}
    </section>
  );
}
