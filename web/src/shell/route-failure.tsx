import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { useEffect } from "react";
import { connection } from "../api/connection.ts";
import { ErrorNote } from "../ui/error-note.tsx";

/** A room could not be shown. Tries again by itself when the line is back. */
export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  useEffect(() => {
    const again = () => {
      if (connection.get() !== "connected") return;
      reset();
      void router.invalidate();
    };
    return connection.subscribe(again);
  }, [reset, router]);
  return (
    <div className="mx-auto max-w-2xl p-6">
      <ErrorNote
        error={error}
        onRetry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </div>
  );
}
