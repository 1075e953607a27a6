import { CircleCheck, TriangleAlert, X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { useSyncExternalStore } from "react";
import { problemOf } from "../api/problem.ts";

interface ToastEntry {
  id: number;
  title: string;
  detail?: string;
  /** Of the request that failed: whoever looks into it asks for it. */
  requestId?: string;
  tone: "ok" | "danger";
}

let entries: readonly ToastEntry[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function set(next: readonly ToastEntry[]): void {
  entries = next;
  for (const listener of listeners) listener();
}

function push(entry: Omit<ToastEntry, "id">): void {
  set([...entries.slice(-3), { ...entry, id: ++lastId }]);
}

/** Says in passing that something was done. */
export function toast(title: string, detail?: string): void {
  push({ title, detail, tone: "ok" });
}

/** Says that something failed where there is no place for an ErrorNote. */
export function toastError(error: unknown, doing?: string): void {
  const { code, detail, hint, requestId } = problemOf(error);
  push({
    title: doing ? `${doing}: ${code}` : code,
    detail: hint ? `${detail} ${hint}` : detail,
    requestId,
    tone: "danger",
  });
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => entries,
  );
  return (
    <Radix.Provider swipeDirection="right" duration={6000}>
      {shown.map(({ id, title, detail, requestId, tone }) => (
        <Radix.Root
          key={id}
          duration={tone === "danger" ? 12_000 : 4000}
          onOpenChange={(open) => !open && set(entries.filter((entry) => entry.id !== id))}
          className="flex animate-appear items-start gap-2.5 rounded-lg bg-raised p-3 shadow-pop"
        >
          {tone === "ok" ? (
            <CircleCheck className="mt-0.5 size-4 shrink-0 text-ok" aria-hidden />
          ) : (
            <TriangleAlert className="mt-0.5 size-4 shrink-0 text-danger" aria-hidden />
          )}
          <div className="min-w-0 flex-1">
            <Radix.Title className="font-medium break-words">{title}</Radix.Title>
            {(detail || requestId) && (
              <Radix.Description className="text-xs break-words text-muted">
                {detail}
                {requestId && (
                  <span className="mt-0.5 block">
                    Request <code>{requestId}</code>
                  </span>
                )}
              </Radix.Description>
            )}
          </div>
          <Radix.Close aria-label="Dismiss" className="rounded text-faint hover:text-text">
            <X className="size-3.5" />
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport className="fixed right-3 bottom-3 z-50 flex w-88 max-w-[calc(100vw-1.5rem)] flex-col gap-2 outline-none" />
    </Radix.Provider>
  );
}
