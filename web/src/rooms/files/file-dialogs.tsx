import type { FileEntry, Files, Session } from "@sandbar/sdk";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { toast } from "../../ui/toast.tsx";
import { draftKey, drafts, setDraft } from "./drafts.ts";
import { pathOf } from "./entry-path.ts";
import { PathDialog } from "./path-dialog.tsx";
import { isWithin, joined, nameOf, parentOf, resolved } from "./paths.ts";
import { plainName } from "./shown-name.ts";
import type { UploadItem } from "./upload-items.ts";
import { WATCHED } from "./use-tree.ts";

/** What the room asks before it does something. */
export type Asked =
  | { kind: "new-file" | "new-folder"; folder: string }
  | { kind: "rename" | "delete"; entry: FileEntry }
  | { kind: "replace"; folder: string; names: string[]; items: UploadItem[] };

export function FileDialogs({
  session,
  asked,
  onClose,
  onChanged,
  onMade,
  onGone,
  onReplace,
}: {
  session: Session;
  asked: Asked | null;
  onClose: () => void;
  /** A folder whose entries are others now. */
  onChanged: (folder: string) => void;
  onMade: (path: string, kind: "file" | "folder") => void;
  onGone: (path: string) => void;
  onReplace: (folder: string, items: UploadItem[]) => void;
}) {
  if (!asked) return null;
  switch (asked.kind) {
    case "new-file":
    case "new-folder":
      return (
        <PathDialog
          title={asked.kind === "new-file" ? "New file" : "New folder"}
          label="Name"
          hint={`In ${plainName(asked.folder, 80)}. With / in it, folders on the way are made.`}
          action="Create"
          initial=""
          onClose={onClose}
          onSubmit={async (typed) => {
            const path = resolved(asked.folder, typed);
            if (asked.kind === "new-folder") await session.files.mkdir(path);
            else if (await isThere(session.files, WATCHED, path))
              throw new Error("A file of this name is there already.");
            else await session.files.write(path, "");
            onChanged(parentOf(path));
            onChanged(asked.folder);
            onMade(path, asked.kind === "new-file" ? "file" : "folder");
          }}
        />
      );
    case "rename":
      return (
        <PathDialog
          title="Rename or move"
          label="Path"
          hint="Folders on the way are made. What is there already is not replaced."
          action="Move"
          initial={asked.entry.path}
          onClose={onClose}
          onSubmit={async (typed) => {
            const from = asked.entry.path;
            const to = resolved(parentOf(from), typed);
            const { etag } = await session.files.move(from, to);
            const draft = drafts.get().get(draftKey(session.id, from));
            if (draft) {
              setDraft(draftKey(session.id, from), null);
              setDraft(draftKey(session.id, to), { ...draft, etag });
            }
            onChanged(parentOf(from));
            onChanged(parentOf(to));
            onMade(to, asked.entry.type === "directory" ? "folder" : "file");
          }}
        />
      );
    case "delete": {
      const { path, type } = asked.entry;
      const folder = type === "directory";
      return (
        <ConfirmDialog
          open
          onOpenChange={onClose}
          title={folder ? "Delete the folder?" : "Delete the file?"}
          action="Delete"
          onConfirm={async () => {
            await session.files.remove(pathOf(asked.entry), { recursive: folder });
            setDraft(draftKey(session.id, path), null);
            onGone(path);
            onChanged(parentOf(path));
            toast("Deleted", plainName(nameOf(path)));
          }}
        >
          <code className="break-all">{plainName(path)}</code>
          {folder && " and everything in it"} cannot be brought back.
        </ConfirmDialog>
      );
    }
    case "replace":
      return (
        <ConfirmDialog
          open
          onOpenChange={onClose}
          title="Replace what is there?"
          action="Replace"
          onConfirm={async () => onReplace(asked.folder, asked.items)}
        >
          <p>
            <code>{plainName(asked.folder, 80)}</code> has {asked.names.length === 1 ? "this" : "these"}{" "}
            already. Files of the same path are replaced, others stay.
          </p>
          <ul className="list-inside list-disc">
            {asked.names.slice(0, 5).map((name) => (
              <li key={name} className="truncate">
                {plainName(name)}
              </li>
            ))}
            {asked.names.length > 5 && <li>and {asked.names.length - 5} more</li>}
          </ul>
        </ConfirmDialog>
      );
  }
}

/** Asks folder after folder: a browser complains about each answer that is a 404. */
async function isThere(files: Files, from: string, path: string): Promise<boolean> {
  for (let folder = from; isWithin(path, folder); ) {
    const next = joined(folder, path.slice(folder.length + 1).split("/")[0]!);
    const entry = (await files.list(folder)).find((each) => each.path === next);
    if (!entry || next === path) return entry !== undefined;
    folder = next;
  }
  return files.exists(path);
}
