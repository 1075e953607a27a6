import { SandbarError, type Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { ArrowLeft, ExternalLink, Globe, RotateCw, X } from "lucide-react";
import { useState } from "react";
import { keys } from "../../api/keys.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";

const ASK_AGAIN_MS = 1500;
/** A link lasts an hour; a page that stays gets another before. */
const NEW_LINK_MS = 45 * 60_000;

/** What a server in the session shows, in a page that reaches neither the console nor its cookie. */
export function PortView({
  session,
  port,
  onClose,
}: {
  session: Session;
  port: number;
  onClose: () => void;
}) {
  const [loads, setLoads] = useState(0);
  const answers = useQuery({
    queryKey: [...keys.ports(session.id), port, "answers"],
    queryFn: async ({ signal }) => {
      const response = await session.fetchPort(port, "/", { signal });
      const closed = response.status === 502 && (await problemCode(response)) === "PORT_CLOSED";
      await response.body?.cancel().catch(() => {});
      return !closed;
    },
    // A server takes a moment to start.
    refetchInterval: ({ state }) => (state.data ? false : ASK_AGAIN_MS),
    retry: false,
  });
  const link = useQuery({
    queryKey: [...keys.ports(session.id), port, "link"],
    queryFn: () => session.preview(port),
    enabled: answers.data === true,
    staleTime: NEW_LINK_MS,
    refetchInterval: NEW_LINK_MS,
  });
  const url = link.data?.url;
  const error = answers.error ?? link.error;
  return (
    <>
      <header className="flex min-h-11 shrink-0 items-center gap-2 border-b bg-surface px-2 sm:px-4">
        <IconButton label="Back to the list" icon={<ArrowLeft />} className="md:hidden" onClick={onClose} />
        <Globe className="size-4 shrink-0 text-faint" aria-hidden />
        <span className="font-medium">Port {port}</span>
        <span className="ml-auto flex items-center gap-1">
          <IconButton
            label="Load again"
            icon={<RotateCw />}
            onClick={() => {
              setLoads((count) => count + 1);
              void answers.refetch();
            }}
          />
          {url && (
            <>
              <CopyButton
                text={url}
                label="Copy the link (it opens the port for an hour, for whoever has it)"
              />
              <a
                href={url}
                target="_blank"
                rel="noopener noreferrer"
                aria-label="Open in a new tab"
                title="Open in a new tab"
                className="inline-flex size-7 items-center justify-center rounded-md text-muted hover:bg-hover hover:text-text [&_svg]:size-4"
              >
                <ExternalLink />
              </a>
            </>
          )}
          <IconButton label="Close the preview" icon={<X />} className="max-md:hidden" onClick={onClose} />
        </span>
      </header>
      {error && !(error instanceof SandbarError && error.code === "PORT_CLOSED") ? (
        <ErrorNote error={error} onRetry={() => void answers.refetch()} className="m-3" />
      ) : answers.data === false ? (
        <EmptyState icon={<Globe />} title={`Nothing listens on port ${port} yet`}>
          Start a server that listens on it, for instance <code>python3 -m http.server {port}</code>. This
          page opens by itself when it answers.
        </EmptyState>
      ) : url ? (
        <iframe
          key={`${url} ${loads}`}
          src={url}
          title={`Port ${port} of the session`}
          // The answer's own policy says the same: whoever opens it, its origin is nobody's.
          sandbox="allow-scripts allow-forms allow-popups allow-downloads allow-modals"
          referrerPolicy="no-referrer"
          className="min-h-0 w-full flex-1 border-0 bg-white"
        />
      ) : (
        <Skeleton className="m-4 h-48" />
      )}
    </>
  );
}

async function problemCode(response: Response): Promise<string | null> {
  if (!response.headers.get("content-type")?.includes("json")) return null;
  const body = (await response.json().catch(() => null)) as { code?: unknown } | null;
  return typeof body?.code === "string" ? body.code : null;
}
