import type { FileEntry, Session } from "@sandbar/sdk";
import { ArrowLeft, Download, Ellipsis, Eye, FileCode2, PencilLine, Trash2 } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { keys } from "../../api/keys.ts";
import { Preview } from "../../preview/preview.tsx";
import type { PreviewSource } from "../../preview/preview-source.ts";
import { Button } from "../../ui/button.tsx";
import { Bytes } from "../../ui/bytes.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Time } from "../../ui/time.tsx";
import { BytesView, useKindByBytes } from "./bytes-view.tsx";
import { pathOf } from "./entry-path.ts";
import { FileIcon } from "./file-icon.tsx";
import { type FileKind, kindByName } from "./file-kind.ts";
import { FileName } from "./file-name.tsx";
import { plainName } from "./shown-name.ts";
import { TextFile } from "./text-file.tsx";

/** These can be read as text too. */
const WITH_SOURCE: readonly FileKind[] = ["csv", "html", "svg"];

export interface FileActions {
  onBack: () => void;
  onDownload: (entry: FileEntry) => void;
  onRename: (entry: FileEntry) => void;
  onDelete: (entry: FileEntry) => void;
}

/** A file as it is best looked at. */
export function FileView({
  session,
  entry,
  writable,
  ...actions
}: { session: Session; entry: FileEntry; writable: boolean } & FileActions) {
  const [source, setSource] = useState(false);
  const named = entry.type === "file" ? kindByName(entry.name) : null;
  const asked = useKindByBytes(session, entry, entry.type === "file" && named === null);
  const kind = named ?? asked.data?.kind ?? null;
  const hasSource = kind !== null && WITH_SOURCE.includes(kind);

  const preview = useMemo(
    (): PreviewSource => ({
      key: [...keys.files(session.id, entry.path), entry.etag],
      name: plainName(entry.name),
      size: entry.size,
      read: (start, end, signal) => session.files.read(pathOf(entry), { start, end, signal }),
    }),
    [session, entry],
  );

  const toolbar = (more?: ReactNode) => (
    <Toolbar entry={entry} writable={writable} {...actions}>
      {hasSource && (
        <Button
          size="sm"
          tone="quiet"
          icon={source ? <Eye /> : <FileCode2 />}
          aria-pressed={source}
          onClick={() => setSource(!source)}
        >
          {source ? "Preview" : "Source"}
        </Button>
      )}
      {more}
    </Toolbar>
  );
  const around = (content: ReactNode) => (
    <>
      {toolbar()}
      {content}
    </>
  );

  if (entry.type === "symlink")
    return around(
      <p className="p-4 text-sm text-muted">
        A link to <code className="break-all">{plainName(entry.target ?? "?", 1000)}</code>
      </p>,
    );
  if (entry.type !== "file")
    return around(<p className="p-4 text-sm text-muted">A {entry.type}: it has no content to show.</p>);
  if (asked.error)
    return around(<ErrorNote error={asked.error} onRetry={() => void asked.refetch()} className="m-3" />);
  if (kind === null) return around(<Skeleton className="m-4 h-40" />);
  if (kind === "text" || (hasSource && source))
    return (
      <TextFile key={entry.path} session={session} entry={entry} editable={writable} toolbar={toolbar} />
    );
  if (kind === "binary") return around(<BytesView session={session} entry={entry} />);
  const download = (
    <Button icon={<Download />} onClick={() => actions.onDownload(entry)}>
      Download
    </Button>
  );
  if (kind === "pdf")
    return around(
      <EmptyState title="A PDF file" action={download}>
        PDF files are not opened in the console. Download it to read it.
      </EmptyState>,
    );
  return around(
    <div className="min-h-0 flex-1 overflow-auto">
      <Preview source={preview} action={download} withSource={false} />
    </div>,
  );
}

export function Toolbar({
  entry,
  writable,
  onBack,
  onDownload,
  onRename,
  onDelete,
  children,
}: { entry: FileEntry; writable: boolean; children?: ReactNode } & FileActions) {
  const canChange = writable && entry.name !== entry.path;
  return (
    <header className="flex min-h-11 shrink-0 items-center gap-2 border-b bg-surface px-2 py-1.5 sm:px-4">
      <IconButton label="Back to the tree" icon={<ArrowLeft />} className="md:hidden" onClick={onBack} />
      <FileIcon entry={entry} open />
      <FileName name={entry.name} className="min-w-0 font-medium" />
      {entry.type === "file" && (
        <span className="hidden shrink-0 gap-2 text-xs text-muted lg:flex">
          <Bytes value={entry.size} />
          <span aria-hidden>·</span>
          <Time at={entry.mtime} />
        </span>
      )}
      <span className="ml-auto flex shrink-0 items-center gap-1">
        {children}
        <IconButton
          label={entry.type === "directory" ? "Download as tar" : "Download"}
          icon={<Download />}
          disabled={entry.type !== "file" && entry.type !== "directory"}
          onClick={() => onDownload(entry)}
        />
        {canChange && (
          <Menu
            trigger={<IconButton label="More" icon={<Ellipsis />} />}
            items={[
              {
                label: "Rename or move…",
                icon: <PencilLine />,
                shortcut: "F2",
                // The API takes such names to read and to remove only.
                disabled: entry.path_b64 !== undefined,
                onSelect: () => onRename(entry),
              },
              null,
              { label: "Delete…", icon: <Trash2 />, danger: true, onSelect: () => onDelete(entry) },
            ]}
          />
        )}
      </span>
    </header>
  );
}
