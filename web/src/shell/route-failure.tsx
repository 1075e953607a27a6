import { SandbarError } from "@sandbar/sdk";
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { SearchX } from "lucide-react";
import { useEffect } from "react";
import { connection } from "../api/connection.ts";
import { problemOf } from "../api/problem.ts";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorNote } from "../ui/error-note.tsx";

/** A room could not be shown. Tries again by itself when the line is back. */
export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const again = () => {
    reset();
    void router.invalidate();
  };
  useEffect(
    () =>
      connection.subscribe(() => {
        if (connection.get() !== "connected") return;
        reset();
        void router.invalidate();
      }),
    [reset, router],
  );
  if (error instanceof SandbarError && error.status === 404) {
    const { code, detail, hint, requestId } = problemOf(error);
    return (
      <EmptyState
        icon={<SearchX />}
        title={detail}
        action={
          <Link to="/sessions" className="text-accent underline underline-offset-2">
            To the sessions
          </Link>
        }
      >
        <p>{hint}</p>
        <p className="mt-2 text-xs">
          <code>{code}</code>
          {requestId && (
            <>
              , request <code>{requestId}</code>
            </>
          )}
        </p>
      </EmptyState>
    );
  }
  return (
    <div className="mx-auto max-w-2xl p-6">
      <ErrorNote error={error} onRetry={again} />
    </div>
  );
}
