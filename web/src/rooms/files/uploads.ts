/** @module Uploads into sessions. They go on while one looks at other rooms. */
import type { Session } from "@sandbar/sdk";
import { createStore } from "../../api/store.ts";
import { joined } from "./paths.ts";
import { topNames, type UploadItem } from "./upload-items.ts";

export interface Upload {
  id: number;
  session: string;
  folder: string;
  /** "report.csv", "photos", "12 items". */
  label: string;
  files: number;
  bytes: number;
  doneFiles: number;
  sentBytes: number;
  startedAt: number;
  endedAt: number | null;
  state: "running" | "done" | "failed" | "cancelled";
  error: unknown;
  cancel: () => void;
  /** What has not arrived is sent again. */
  retry: () => void;
}

/** Browsers have six connections to one origin, and others want some of them. */
const AT_ONCE = 3;
const TELL_MS = 100;

export const uploads = createStore<readonly Upload[]>([]);
let lastId = 0;

export function startUpload(session: Session, folder: string, items: readonly UploadItem[]): void {
  const names = topNames(items);
  const id = ++lastId;
  const bytes = items.reduce((sum, { file }) => sum + (file?.size ?? 0), 0);
  const sent = new Map<UploadItem, number>();
  const waiting = new Set(items);
  let controller = new AbortController();

  const change = (changes: Partial<Upload>) =>
    uploads.set(uploads.get().map((each) => (each.id === id ? { ...each, ...changes } : each)));
  const progress = () => {
    let sentBytes = 0;
    for (const count of sent.values()) sentBytes += count;
    // The last bytes count when the file is there, not when they have left.
    change({ sentBytes: Math.min(sentBytes, bytes), doneFiles: filesIn(items) - filesIn([...waiting]) });
  };

  const send = async (item: UploadItem, signal: AbortSignal) => {
    const path = joined(folder, item.path);
    if (item.file) {
      const onProgress = (count: number) => sent.set(item, Math.min(count, item.file!.size));
      await session.files.write(path, item.file, { signal, onProgress });
      sent.set(item, item.file.size);
    } else await session.files.mkdir(path);
    waiting.delete(item);
  };
  const run = async () => {
    controller = new AbortController();
    const { signal } = controller;
    const timer = setInterval(progress, TELL_MS);
    const left = [...waiting];
    const lane = async () => {
      for (let item = left.shift(); item && !signal.aborted; item = left.shift()) await send(item, signal);
    };
    try {
      await Promise.all(
        Array.from({ length: AT_ONCE }, () =>
          lane().catch((error) => {
            controller.abort(error);
            throw error;
          }),
        ),
      );
      progress();
      change({ state: signal.aborted ? "cancelled" : "done", endedAt: Date.now() });
    } catch (error) {
      progress();
      const cancelled = signal.reason === CANCELLED;
      change({
        state: cancelled ? "cancelled" : "failed",
        error: cancelled ? null : error,
        endedAt: Date.now(),
      });
    } finally {
      clearInterval(timer);
    }
  };
  const upload: Upload = {
    id,
    session: session.id,
    folder,
    label: names.length === 1 ? names[0]! : `${names.length} items`,
    files: filesIn(items),
    bytes,
    doneFiles: 0,
    sentBytes: 0,
    startedAt: Date.now(),
    endedAt: null,
    state: "running",
    error: null,
    cancel: () => controller.abort(CANCELLED),
    retry: () => {
      for (const item of waiting) sent.delete(item);
      change({ state: "running", error: null, endedAt: null });
      void run();
    },
  };
  uploads.set([...uploads.get(), upload]);
  void run();
}

/** Empty folders are made, and not counted. */
const filesIn = (items: readonly UploadItem[]) => items.filter(({ file }) => file !== null).length;

const CANCELLED = new DOMException("cancelled", "AbortError");

export function dismissUpload(id: number): void {
  uploads.set(uploads.get().filter((each) => each.id !== id));
}
