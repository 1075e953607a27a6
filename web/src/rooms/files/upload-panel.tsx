import { CircleCheck, CircleSlash, TriangleAlert, Upload as UploadIcon, X } from "lucide-react";
import { useEffect } from "react";
import { useStore } from "../../api/store.ts";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { FileName } from "./file-name.tsx";
import { plainName } from "./shown-name.ts";
import { dismissUpload, type Upload, uploads } from "./uploads.ts";

const DONE_MS = 6000;

/** How the uploads into this session go, newest last. */
export function UploadPanel({ session }: { session: string }) {
  const all = useStore(uploads).filter((upload) => upload.session === session);
  if (all.length === 0) return null;
  return (
    <section aria-label="Uploads" className="max-h-64 shrink-0 overflow-y-auto border-t bg-surface">
      {all.map((upload) => (
        <Row key={upload.id} upload={upload} />
      ))}
    </section>
  );
}

function Row({ upload }: { upload: Upload }) {
  const { id, label, state, bytes, sentBytes, files, doneFiles, error } = upload;
  useEffect(() => {
    if (state !== "done") return;
    const timer = setTimeout(() => dismissUpload(id), DONE_MS);
    return () => clearTimeout(timer);
  }, [id, state]);
  const share = bytes > 0 ? sentBytes / bytes : files > 0 ? doneFiles / files : 1;
  const percent = Math.floor(share * 100);
  return (
    <div className="border-b px-3 py-2 last:border-b-0">
      <div className="flex items-center gap-2.5">
        <span className="shrink-0 [&_svg]:size-4" aria-hidden>
          {
            {
              running: <UploadIcon className="text-accent" />,
              done: <CircleCheck className="text-ok" />,
              failed: <TriangleAlert className="text-danger" />,
              cancelled: <CircleSlash className="text-faint" />,
            }[state]
          }
        </span>
        <FileName name={label} className="font-medium" />
        <span className="ml-auto shrink-0 text-xs text-muted tabular-nums">{words(upload)}</span>
        {state === "running" ? (
          <Button size="sm" tone="quiet" onClick={upload.cancel}>
            Cancel
          </Button>
        ) : (
          <IconButton label="Dismiss" icon={<X />} onClick={() => dismissUpload(id)} />
        )}
      </div>
      {state === "running" && (
        <div
          role="progressbar"
          aria-label={`Uploading ${plainName(label)}`}
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
          className="mt-1.5 h-1 overflow-hidden rounded-full bg-hover"
        >
          <div
            className="h-full rounded-full bg-accent transition-[width] duration-150"
            style={{ width: `${percent}%` }}
          />
        </div>
      )}
      {state === "failed" && <ErrorNote error={error} onRetry={upload.retry} className="mt-2" />}
    </div>
  );
}

function words({ state, files, doneFiles, bytes, sentBytes, startedAt, endedAt }: Upload): string {
  const many = files === 1 ? "" : ` · ${doneFiles} of ${files} files`;
  if (state === "done") {
    const seconds = ((endedAt ?? startedAt) - startedAt) / 1000;
    return `${formatBytes(bytes)}${files === 1 ? "" : ` in ${files} files`} · ${seconds.toFixed(1)} s`;
  }
  if (state === "cancelled")
    return `Cancelled${files === 1 ? "" : `, ${doneFiles} of ${files} files are there`}`;
  const speed = sentBytes / Math.max(0.2, (Date.now() - startedAt) / 1000);
  return `${formatBytes(sentBytes)} of ${formatBytes(bytes)}${many}${state === "running" ? ` · ${formatBytes(speed)}/s` : ""}`;
}
