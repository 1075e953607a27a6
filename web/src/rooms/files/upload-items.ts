/** @module What somebody dropped or chose, as a flat list of files and empty folders. */

export interface UploadItem {
  /** Below the folder that it goes to. */
  path: string;
  /** Null for a folder. */
  file: File | null;
}

/** Must be called while the drop is handled: afterwards the browser forgets the items. */
export function droppedItems(transfer: DataTransfer): () => Promise<UploadItem[]> {
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const loose = entries.length === 0 ? [...transfer.files] : [];
  return async () => {
    const items: UploadItem[] = loose.map((file) => ({ path: file.name, file }));
    for (const entry of entries) await collect(entry, entry.name, items);
    return items;
  };
}

export function chosenItems(files: FileList): UploadItem[] {
  return [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

async function collect(entry: FileSystemEntry, path: string, items: UploadItem[]): Promise<void> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    items.push({ path, file });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  let empty = true;
  for (;;) {
    // It gives a hundred at a time, and none when that was all.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) break;
    empty = false;
    for (const child of some) await collect(child, `${path}/${child.name}`, items);
  }
  if (empty) items.push({ path, file: null });
}

/** What stands at the top: the names that could be there already. */
export function topNames(items: readonly UploadItem[]): string[] {
  return [...new Set(items.map(({ path }) => path.split("/")[0]!))];
}
