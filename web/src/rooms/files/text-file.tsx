import { type FileEntry, SandbarError, type Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";
import { keys } from "../../api/keys.ts";
import { useStore } from "../../api/store.ts";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { toast } from "../../ui/toast.tsx";
import { draftKey, drafts, setDraft } from "./drafts.ts";
import { pathOf } from "./entry-path.ts";
import { plainName } from "./shown-name.ts";

const TextEditor = lazy(() => import("./text-editor.tsx"));

/** More is shown in part, and not edited. */
export const EDIT_BYTES = 2 * 1024 * 1024;
export const PART_BYTES = 256 * 1024;

interface Base {
  text: string;
  etag: string;
}

/** Text in an editor. What others write meanwhile is taken over, or asked about when something is not saved. */
export function TextFile({
  session,
  entry,
  editable,
  toolbar,
}: {
  session: Session;
  entry: FileEntry;
  editable: boolean;
  /** Draws the row above, with the buttons that belong here. */
  toolbar: (actions: ReactNode) => ReactNode;
}) {
  const key = draftKey(session.id, entry.path);
  const draft = useStore(drafts).get(key);
  const partial = entry.size > EDIT_BYTES;
  const readOnly = !editable || partial || entry.path_b64 !== undefined;
  const [base, setBase] = useState<Base | null>(null);
  const [saving, setSaving] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const [conflict, setConflict] = useState(false);
  // Counts up when the editor's text must be replaced.
  const [version, setVersion] = useState(0);

  const read = useQuery({
    queryKey: [...keys.files(session.id, entry.path), "text", entry.etag],
    queryFn: async ({ signal }): Promise<Base> => {
      const bytes = await session.files.read(pathOf(entry), {
        signal,
        ...(partial ? { start: 0, end: PART_BYTES } : {}),
      });
      return { text: new TextDecoder().decode(bytes), etag: entry.etag };
    },
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });

  useEffect(() => {
    const fresh = read.data;
    if (!fresh || fresh.etag === base?.etag || saving) return;
    const kept = drafts.get().get(key);
    if (kept && kept.etag !== fresh.etag) {
      // The same text is no conflict, whoever wrote it.
      if (kept.text !== fresh.text) setConflict(true);
      else setDraft(key, null);
      if (!base) setBase({ text: fresh.text, etag: kept.etag });
      return;
    }
    if (base?.text !== fresh.text) setVersion((count) => count + 1);
    setBase(fresh);
  }, [read.data, base, key, saving]);

  const takeTheirs = () => {
    setDraft(key, null);
    setConflict(false);
    setBase(read.data ?? base);
    setVersion((count) => count + 1);
  };
  const save = async (force = false) => {
    const kept = drafts.get().get(key);
    if (!kept || saving) return;
    setSaving(true);
    setFailure(null);
    try {
      const mode = (entry.mode & 0o777).toString(8).padStart(3, "0");
      const ifMatch = force ? undefined : kept.etag;
      const written = await session.files.write(entry.path, kept.text, { mode, ifMatch });
      const etag = written.etag ?? (await session.files.stat(entry.path)).etag;
      setConflict(false);
      setBase({ text: kept.text, etag });
      const newest = drafts.get().get(key);
      setDraft(key, newest && newest.text !== kept.text ? { text: newest.text, etag } : null);
      toast("Saved", plainName(entry.name));
    } catch (error) {
      if (error instanceof SandbarError && error.code === "ETAG_MISMATCH") setConflict(true);
      else setFailure(error);
    } finally {
      setSaving(false);
    }
  };

  return (
    <>
      {toolbar(
        !readOnly && (
          <>
            {draft && (
              <Button size="sm" tone="quiet" disabled={saving} onClick={takeTheirs}>
                Discard
              </Button>
            )}
            <Button
              size="sm"
              tone={draft ? "primary" : "plain"}
              busy={saving}
              disabled={!draft}
              onClick={() => void save()}
            >
              Save
            </Button>
          </>
        ),
      )}
      {partial && (
        <p className="shrink-0 border-b bg-warn-soft px-4 py-1.5 text-xs text-warn">
          The first {formatBytes(PART_BYTES)} of {formatBytes(entry.size)}. Download the file to see all of
          it.
        </p>
      )}
      {conflict && (
        <div
          role="alert"
          className="flex shrink-0 flex-wrap items-center gap-2 border-b bg-warn-soft px-4 py-2 text-sm text-warn"
        >
          <span className="min-w-48 flex-1">
            The file was changed by somebody else since you began to edit.
          </span>
          <Button size="sm" onClick={takeTheirs}>
            Take theirs
          </Button>
          <Button size="sm" tone="danger" busy={saving} onClick={() => void save(true)}>
            Overwrite with mine
          </Button>
        </div>
      )}
      {failure != null && <ErrorNote error={failure} onRetry={() => void save()} className="m-3" />}
      {read.error && !base ? (
        <ErrorNote error={read.error} onRetry={() => void read.refetch()} className="m-3" />
      ) : !base ? (
        <TextSkeleton />
      ) : (
        <div className="min-h-0 flex-1">
          <Suspense fallback={<TextSkeleton />}>
            <TextEditor
              name={entry.name}
              value={draft?.text ?? base.text}
              version={`${entry.path} ${version}`}
              readOnly={readOnly}
              onChange={(text) =>
                setDraft(key, text === base.text ? null : { text, etag: draft?.etag ?? base.etag })
              }
              onSave={() => void save()}
            />
          </Suspense>
        </div>
      )}
    </>
  );
}

function TextSkeleton() {
  return (
    <div className="space-y-2 p-4">
      {["w-2/3", "w-1/2", "w-3/5", "w-1/3"].map((width) => (
        <Skeleton key={width} className={`h-3 ${width}`} />
      ))}
    </div>
  );
}
