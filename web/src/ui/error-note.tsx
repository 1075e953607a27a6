import { clsx } from "clsx";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { problemOf } from "../api/problem.ts";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy-button.tsx";

/** A failure with everything that helps: code, detail, hint, fields, request id. */
export function ErrorNote({
  error,
  hint: better,
  onRetry,
  action,
  className,
}: {
  error: unknown;
  /** In place of the API's own, which is for who calls it. */
  hint?: ReactNode;
  onRetry?: () => void;
  action?: ReactNode;
  className?: string;
}) {
  const { code, detail, hint, requestId, fields: named } = problemOf(error);
  // A single one is what the detail says.
  const fields = named.filter(({ path, message }) => `${path}: ${message}` !== detail);
  const all = [`${code}: ${detail}`, hint, requestId && `request ${requestId}`].filter(Boolean).join("\n");
  return (
    <div
      role="alert"
      className={clsx(
        "flex items-start gap-2.5 rounded-lg bg-danger-soft px-3 py-2.5 text-sm text-text",
        className,
      )}
    >
      <TriangleAlert className="mt-0.5 size-4 shrink-0 text-danger" aria-hidden />
      <div className="min-w-0 flex-1 space-y-0.5">
        <p className="break-words">
          <code className="mr-2 font-semibold text-danger">{code}</code>
          {detail}
        </p>
        {fields.map(({ path, message }) => (
          <p key={`${path} ${message}`} className="text-xs">
            <code>{path}</code> {message}
          </p>
        ))}
        {(better ?? hint) && <p className="text-xs text-muted">{better ?? hint}</p>}
        {requestId && (
          <p className="text-xs text-muted">
            Request <code>{requestId}</code>
          </p>
        )}
      </div>
      <div className="flex shrink-0 items-center gap-1">
        {action}
        {onRetry && (
          <Button size="sm" onClick={onRetry}>
            Try again
          </Button>
        )}
        <CopyButton text={all} label="Copy the error" />
      </div>
    </div>
  );
}
