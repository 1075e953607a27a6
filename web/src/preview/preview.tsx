/** @module A look at a file, wherever it is: the files and artifacts of sessions use the same. */
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { formatBytes } from "../ui/bytes.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorNote } from "../ui/error-note.tsx";
import { Skeleton } from "../ui/skeleton.tsx";
import { kindOf, PREVIEW_BYTES, type PreviewKind, type PreviewSource, textOf } from "./preview-source.ts";
import { RowsPreview } from "./rows-preview.tsx";
import { SandboxedFrame } from "./sandboxed-frame.tsx";

const WHOLE: ReadonlySet<PreviewKind> = new Set(["image", "audio", "video", "svg", "html"]);

/**
 * Fills what it is given. `action` stands where nothing can be shown: a download, for instance. `withSource: false` for
 * who shows the text of pages and drawings itself.
 */
export function Preview({
  source,
  action,
  withSource = true,
}: {
  source: PreviewSource;
  action?: ReactNode;
  withSource?: boolean;
}) {
  const kind = kindOf(source.name, source.mime);
  if (source.size === 0) return <EmptyState title="It is empty">0 bytes</EmptyState>;
  if (!kind)
    return (
      <EmptyState title="No preview" action={action}>
        Nothing here knows how to show {source.mime || "this"}.
      </EmptyState>
    );
  if (WHOLE.has(kind) && source.size > PREVIEW_BYTES[kind])
    return (
      <EmptyState title="Too large to show here" action={action}>
        It has {formatBytes(source.size)}; up to {formatBytes(PREVIEW_BYTES[kind])} are shown.
      </EmptyState>
    );
  if (kind === "csv" || kind === "parquet") return <TableFile source={source} kind={kind} />;
  return <Bytes source={source} kind={kind} action={action} withSource={withSource} />;
}

function TableFile({ source, kind }: { source: PreviewSource; kind: "csv" | "parquet" }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["preview", kind, ...source.key],
    queryFn: async ({ signal }) => {
      const { csvRows, parquetRows } = await import("./first-rows.ts");
      return kind === "csv" ? csvRows(source, signal) : parquetRows(source, signal);
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  if (error) return <Failed error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return <RowsPreview table={data} label={`First rows of ${source.name}`} />;
}

function Bytes({
  source,
  kind,
  action,
  withSource,
}: {
  source: PreviewSource;
  kind: Exclude<PreviewKind, "csv" | "parquet">;
  action?: ReactNode;
  withSource: boolean;
}) {
  const end = Math.min(source.size, PREVIEW_BYTES[kind]);
  const { data, error, refetch } = useQuery({
    queryKey: ["preview", "bytes", end, ...source.key],
    queryFn: ({ signal }) => source.read(0, end, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    // Bytes are compared for being the same in no time only when they are not looked into.
    structuralSharing: false,
  });
  if (error) return <Failed error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (kind === "image" || kind === "audio" || kind === "video")
    return <Media bytes={data} kind={kind} source={source} />;
  const text = textOf(data, end === source.size);
  if (text === null)
    return (
      <EmptyState title="No preview" action={action}>
        This is not text in UTF-8.
      </EmptyState>
    );
  if (kind === "svg" || kind === "html")
    return <MadeByCode text={text} kind={kind} name={source.name} withSource={withSource} />;
  return <Text text={kind === "json" ? indented(text) : text} shown={end} size={source.size} />;
}

function Media({
  bytes,
  kind,
  source,
}: {
  bytes: Uint8Array;
  kind: "image" | "audio" | "video";
  source: PreviewSource;
}) {
  const [url, setUrl] = useState("");
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>]));
    setUrl(made);
    setFailed(false);
    return () => URL.revokeObjectURL(made);
  }, [bytes]);
  if (failed) return <EmptyState title="No preview">The browser cannot show what is in it.</EmptyState>;
  if (!url) return <Loading />;
  const onError = () => setFailed(true);
  return (
    <div className="flex h-full items-center justify-center overflow-auto bg-sunken p-4">
      {kind === "image" && (
        <img src={url} alt={source.name} onError={onError} className="max-h-full max-w-full object-contain" />
      )}
      {/* biome-ignore lint/a11y/useMediaCaption: it is somebody's file */}
      {kind === "audio" && <audio src={url} controls onError={onError} className="w-full" />}
      {/* biome-ignore lint/a11y/useMediaCaption: it is somebody's file */}
      {kind === "video" && <video src={url} controls onError={onError} className="max-h-full max-w-full" />}
    </div>
  );
}

function MadeByCode({
  text,
  kind,
  name,
  withSource,
}: {
  text: string;
  kind: "svg" | "html";
  name: string;
  withSource: boolean;
}) {
  const [asText, setAsText] = useState(false);
  return (
    <div className="flex h-full min-h-0 flex-col">
      {asText ? (
        <Text text={text} shown={1} size={1} />
      ) : (
        <div className="flex min-h-0 flex-1 p-3">
          <SandboxedFrame html={text} title={name} className="h-full" />
        </div>
      )}
      <p className="flex shrink-0 items-center justify-between gap-3 border-t px-3 py-1.5 text-xs text-muted">
        <span>Shown apart, without network: what it would load from elsewhere is missing.</span>
        {withSource && (
          <button
            type="button"
            className="shrink-0 font-medium text-accent hover:underline"
            onClick={() => setAsText(!asText)}
          >
            {asText ? `Show the ${kind === "svg" ? "drawing" : "page"}` : "Show the source"}
          </button>
        )}
      </p>
    </div>
  );
}

function Text({ text, shown, size }: { text: string; shown: number; size: number }) {
  return (
    <div className="flex h-full min-h-0 flex-col">
      <pre
        // What scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        tabIndex={0}
        className="min-h-0 flex-1 overflow-auto px-3 py-2 text-xs leading-5"
      >
        {text}
      </pre>
      {shown < size && (
        <p className="shrink-0 border-t px-3 py-1.5 text-xs text-muted">
          The first {formatBytes(shown)} of {formatBytes(size)}
        </p>
      )}
    </div>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Loading() {
  return (
    <div className="space-y-2 p-4">
      {["w-3/4", "w-1/2", "w-2/3", "w-5/6"].map((width) => (
        <Skeleton key={width} className={`h-3 ${width}`} />
      ))}
    </div>
  );
}

function Failed({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return <ErrorNote error={error} onRetry={onRetry} className="m-3" />;
}
