import { type DragEvent, type ReactNode, useState } from "react";
import { toastError } from "../../ui/toast.tsx";
import { droppedItems, type UploadItem } from "../files/upload-items.ts";

/** Files that are dropped anywhere on the page go with the next question. */
export function DropZone({
  onDrop,
  children,
}: {
  onDrop: (items: readonly UploadItem[]) => void;
  children: ReactNode;
}) {
  const [over, setOver] = useState(false);
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes("Files");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button "Add files" does the same
    <div
      className="relative flex min-h-0 min-w-0 flex-1 flex-col"
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        droppedItems(event.dataTransfer)().then(onDrop, (error: unknown) => toastError(error, "Drop"));
      }}
    >
      {children}
      {over && (
        <div className="pointer-events-none absolute inset-2 z-10 flex items-center justify-center rounded-xl border-2 border-dashed border-accent bg-accent-soft/80 text-base font-medium text-accent">
          Drop files for the sandbox
        </div>
      )}
    </div>
  );
}
