import { FilePlus, FolderPlus, FolderUp, Upload } from "lucide-react";
import { type Command, useCommands } from "../../shell/commands.ts";

/** What can be done with files: for the palette, and the sheet of shortcuts. */
export function useFileCommands({
  onUpload,
  onUploadFolder,
  onNewFile,
  onNewFolder,
}: {
  onUpload: () => void;
  onUploadFolder: () => void;
  onNewFile: () => void;
  onNewFolder: () => void;
}): void {
  const group = "Files";
  useCommands([
    { id: "files.upload", title: "Upload files", group, icon: <Upload />, run: onUpload },
    { id: "files.upload-folder", title: "Upload a folder", group, icon: <FolderUp />, run: onUploadFolder },
    { id: "files.new", title: "New file", group, icon: <FilePlus />, run: onNewFile },
    { id: "files.new-folder", title: "New folder", group, icon: <FolderPlus />, run: onNewFolder },
    ...KEYS,
  ]);
}

/** The tree and the editor handle these. */
const KEYS: readonly Command[] = [
  { id: "files.rename", title: "Rename or move", shortcut: "F2" },
  { id: "files.delete", title: "Delete", shortcut: "Delete" },
  { id: "files.save", title: "Save", shortcut: "Mod+S" },
].map((key) => ({ ...key, group: "Files", handledElsewhere: true, run: () => {} }));
