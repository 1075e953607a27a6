import type { FileEntry } from "@sandbar/sdk";
import { clsx } from "clsx";
import { FilePlus, FolderPlus, Folders, FolderUp, RefreshCw, Upload as UploadIcon } from "lucide-react";
import { type DragEvent, useMemo, useRef, useState } from "react";
import { useStore } from "../../api/store.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Menu } from "../../ui/menu.tsx";
import { toastError } from "../../ui/toast.tsx";
import { isAlive, useSession } from "../session/use-session.ts";
import { draftKey, drafts } from "./drafts.ts";
import { pathOf } from "./entry-path.ts";
import { useFileCommands } from "./file-commands.tsx";
import { type Asked, FileDialogs } from "./file-dialogs.tsx";
import { FileTree } from "./file-tree.tsx";
import { type FileActions, FileView, Toolbar } from "./file-view.tsx";
import { foldersAbove, isWithin, parentOf } from "./paths.ts";
import { plainName } from "./shown-name.ts";
import { chosenItems, droppedItems, topNames, type UploadItem } from "./upload-items.ts";
import { UploadPanel } from "./upload-panel.tsx";
import { startUpload } from "./uploads.ts";
import { useChosen } from "./use-chosen.ts";
import { useTree, WATCHED } from "./use-tree.ts";

/** The session's folders at the left, what is chosen in them at the right; on a phone one after the other. */
export function FilesRoom() {
  const session = useSession();
  const alive = isAlive(session);
  if (!alive)
    return (
      <EmptyState icon={<Folders />} title="The session has ended">
        Its files ended with it. What was to stay is among the artifacts.
      </EmptyState>
    );
  return <FilesOf key={session.id} />;
}

function FilesOf() {
  const session = useSession();
  const { chosen, choose, viewed } = useChosen(session.id);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set([WATCHED, ...foldersAbove(chosen)]));
  const [asked, setAsked] = useState<Asked | null>(null);
  const [dragging, setDragging] = useState(false);
  const [treeShown, setTreeShown] = useState(chosen === WATCHED);
  const fileInput = useRef<HTMLInputElement>(null);
  const folderInput = useRef<HTMLInputElement>(null);
  const { rows, listings, errors, refresh, live } = useTree(session, open);

  const allDrafts = useStore(drafts);
  const draftPaths = useMemo(() => {
    const prefix = draftKey(session.id, "");
    return new Set(
      [...allDrafts.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length)),
    );
  }, [allDrafts, session.id]);

  const entryAt = (path: string) => {
    const row = rows.find((each) => each.kind === "entry" && each.path === path);
    return row?.kind === "entry" ? row.entry : null;
  };
  const entry = entryAt(viewed);
  const writable = !isWithin(viewed, "/data");
  const chosenEntry = entryAt(chosen);
  const folder = !chosenEntry || chosenEntry.type === "directory" ? chosen : parentOf(chosen);
  const target = isWithin(folder, "/data") ? WATCHED : folder;

  const toggle = (path: string, isOpen: boolean) => {
    const next = new Set(open);
    if (isOpen) next.add(path);
    else for (const each of open) if (isWithin(each, path)) next.delete(each);
    setOpen(next);
  };
  const reveal = (path: string) => {
    setOpen((before) => new Set([...before, ...foldersAbove(path)]));
    choose(path);
  };

  const upload = async (into: string, items: UploadItem[]) => {
    if (items.length === 0) return;
    const names = topNames(items);
    const there = new Set((await session.files.list(into).catch(() => [])).map(({ name }) => name));
    const taken = names.filter((name) => there.has(name));
    if (taken.length > 0) return setAsked({ kind: "replace", folder: into, names: taken, items });
    send(into, items);
  };
  const send = (into: string, items: UploadItem[]) => {
    setOpen((before) => new Set([...before, into]));
    startUpload(session, into, items);
  };
  const drop = (into: string, event: DragEvent) => {
    event.preventDefault();
    event.stopPropagation();
    setDragging(false);
    droppedItems(event.dataTransfer)()
      .then((items) => upload(isWithin(into, "/data") ? WATCHED : into, items))
      .catch((error) => toastError(error, "Upload"));
  };
  const download = async (what: FileEntry) => {
    try {
      // A failed download would otherwise be a broken file without a word.
      if (what.path !== what.name) await session.files.stat(pathOf(what));
      const link = document.createElement("a");
      link.href = session.files.url(pathOf(what));
      link.download = "";
      link.click();
    } catch (error) {
      toastError(error, "Download");
    }
  };
  const actions: FileActions = {
    onBack: () => setTreeShown(true),
    onDownload: (what) => void download(what),
    onRename: (what) => what.path !== what.name && setAsked({ kind: "rename", entry: what }),
    onDelete: (what) => what.path !== what.name && setAsked({ kind: "delete", entry: what }),
  };

  useFileCommands({
    onUpload: () => fileInput.current?.click(),
    onUploadFolder: () => folderInput.current?.click(),
    onNewFile: () => setAsked({ kind: "new-file", folder: target }),
    onNewFolder: () => setAsked({ kind: "new-folder", folder: target }),
  });

  const rootListing = listings.get(WATCHED);
  const rootError = errors.get(WATCHED);
  const empty =
    typeof rootListing === "object" && rootListing.entries.every(({ name }) => name.startsWith("."));
  return (
    <div
      role="group"
      aria-label="Files of the session"
      className="relative flex h-full min-h-0 flex-col"
      onDragEnter={(event) => event.dataTransfer.types.includes("Files") && setDragging(true)}
      onDragOver={(event) => event.preventDefault()}
      onDragLeave={(event) => event.currentTarget === event.target && setDragging(false)}
      onDrop={(event) => drop(target, event)}
    >
      <div className="flex min-h-0 flex-1">
        <section
          aria-label="Tree"
          className={clsx(
            "w-full shrink-0 flex-col border-r md:flex md:w-72 lg:w-80",
            treeShown ? "flex" : "hidden",
          )}
        >
          <div className="flex h-11 shrink-0 items-center gap-0.5 border-b px-2">
            <Menu
              align="start"
              trigger={
                <Button size="sm" icon={<UploadIcon />}>
                  Upload
                </Button>
              }
              items={[
                { label: "Files…", icon: <UploadIcon />, onSelect: () => fileInput.current?.click() },
                { label: "A folder…", icon: <FolderUp />, onSelect: () => folderInput.current?.click() },
              ]}
            />
            <IconButton
              label="New file"
              icon={<FilePlus />}
              className="ml-auto"
              onClick={() => setAsked({ kind: "new-file", folder: target })}
            />
            <IconButton
              label="New folder"
              icon={<FolderPlus />}
              onClick={() => setAsked({ kind: "new-folder", folder: target })}
            />
            <IconButton
              label={live ? "Read again (changes show by themselves)" : "Read again"}
              icon={<RefreshCw />}
              onClick={() => {
                for (const each of open) refresh(each);
              }}
            />
          </div>
          {rootError && rootListing === "failed" ? (
            <ErrorNote error={rootError} onRetry={() => refresh(WATCHED)} className="m-2" />
          ) : (
            <FileTree
              rows={rows}
              chosen={chosen}
              drafts={draftPaths}
              onChoose={(what) => {
                choose(what.path);
                if (what.type !== "directory") setTreeShown(false);
              }}
              onToggle={toggle}
              onRename={actions.onRename}
              onDelete={actions.onDelete}
              onDropInto={drop}
            />
          )}
        </section>
        <section
          aria-label="File"
          className={clsx("min-w-0 flex-1 flex-col bg-surface md:flex", treeShown ? "hidden" : "flex")}
        >
          {entry && entry.type !== "directory" ? (
            <FileView key={entry.path} session={session} entry={entry} writable={writable} {...actions} />
          ) : entry ? (
            <>
              <Toolbar entry={entry} writable={writable} {...actions} />
              <EmptyState
                icon={<FolderUp />}
                title={empty ? "Nothing is here yet" : "Drop files or folders here"}
              >
                They are uploaded into <code className="break-all">{plainName(entry.path)}</code>. What code
                writes below <code>/session</code> appears in the tree by itself; what it writes into{" "}
                <code>/session/artifacts</code> is kept for good.
              </EmptyState>
            </>
          ) : (
            <Absent
              path={viewed}
              known={listings.get(parentOf(viewed)) !== "loading"}
              onBack={() => choose(WATCHED)}
            />
          )}
        </section>
      </div>
      <UploadPanel session={session.id} />
      {dragging && (
        <div className="pointer-events-none absolute inset-2 z-20 flex items-end justify-center rounded-xl border-2 border-dashed border-accent bg-accent-soft/40 pb-6">
          <p className="rounded-md bg-raised px-3 py-1.5 text-sm font-medium shadow-pop">
            Drop to upload into <code>{plainName(target, 60)}</code>, or onto a folder
          </p>
        </div>
      )}
      {[fileInput, folderInput].map((input, index) => (
        <input
          key={index}
          ref={input}
          type="file"
          multiple
          hidden
          aria-label={index === 0 ? "Files to upload" : "Folder to upload"}
          {...(index === 0 ? {} : { webkitdirectory: "" })}
          onChange={({ currentTarget }) => {
            void upload(target, chosenItems(currentTarget.files!));
            currentTarget.value = "";
          }}
        />
      ))}
      <FileDialogs
        session={session}
        asked={asked}
        onClose={() => setAsked(null)}
        onChanged={refresh}
        onMade={(path, kind) => {
          reveal(path);
          setTreeShown(kind === "folder");
        }}
        onGone={(path) => isWithin(chosen, path) && choose(parentOf(path))}
        onReplace={send}
      />
    </div>
  );
}

function Absent({ path, known, onBack }: { path: string; known: boolean; onBack: () => void }) {
  if (!known) return null;
  return (
    <EmptyState title="It is not there (any more)" action={<Button onClick={onBack}>To /session</Button>}>
      <code className="break-all">{plainName(path)}</code>
    </EmptyState>
  );
}
