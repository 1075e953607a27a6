import type { FileEntry } from "@sandbar/sdk";
import {
  Box,
  File,
  FileCode,
  FileImage,
  FileJson,
  FileSpreadsheet,
  FileSymlink,
  FileText,
  Folder,
  FolderOpen,
  Plug,
} from "lucide-react";
import type { ReactNode } from "react";
import { kindByName } from "./file-kind.ts";

export function FileIcon({ entry: { type, name }, open = false }: { entry: FileEntry; open?: boolean }) {
  return <span className="shrink-0 text-faint [&_svg]:size-4">{icon(type, name, open)}</span>;
}

function icon(type: FileEntry["type"], name: string, open: boolean): ReactNode {
  if (type === "directory")
    return open ? <FolderOpen className="text-accent" /> : <Folder className="text-accent" />;
  if (type === "symlink") return <FileSymlink />;
  if (type !== "file") return <Plug />;
  const kind = kindByName(name);
  if (kind === "image" || kind === "svg") return <FileImage />;
  if (kind === "csv") return <FileSpreadsheet />;
  if (kind === "parquet") return <Box />;
  if (/\.(json|jsonl|ndjson|ipynb)$/i.test(name)) return <FileJson />;
  if (/\.(py|js|mjs|ts|tsx|r|sh|html?|css|sql|c|cpp|rs|go|java)$/i.test(name)) return <FileCode />;
  if (/\.(md|txt|log|rst|pdf)$/i.test(name)) return <FileText />;
  return <File />;
}
