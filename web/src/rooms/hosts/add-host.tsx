import type { Host } from "@sandbar/sdk";
import { HOST_PACKAGE, installLine } from "@sandbar/shared";
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, LoaderCircle } from "lucide-react";
import { useEffect, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { Button } from "../../ui/button.tsx";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { Time } from "../../ui/time.tsx";
import { useNow } from "../../ui/use-now.ts";

/** Shows the one command to paste, and turns green when a machine has joined with it. */
export function AddHost({
  open,
  onOpenChange,
  hosts,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  hosts: readonly Host[] | undefined;
}) {
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      width="lg"
      title="Add a host"
      description="A Linux machine with systemd and Node 20 or newer that can reach this address. It needs no open port."
    >
      {open && <Joining hosts={hosts} onDone={() => onOpenChange(false)} />}
    </Dialog>
  );
}

function Joining({ hosts, onDone }: { hosts: readonly Host[] | undefined; onDone: () => void }) {
  const now = useNow();
  const {
    data: enrollment,
    error,
    refetch,
  } = useQuery({
    queryKey: ["enrollment"],
    queryFn: () => sandbar.hosts.enroll(),
    // A token is for one machine: whoever opens the dialog again gets another one.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  // Whoever is not among these came while the dialog was open.
  const [known, setKnown] = useState<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (!known && hosts) setKnown(new Set(hosts.map(({ id }) => id)));
  }, [known, hosts]);
  const joined = known && hosts?.findLast(({ id }) => !known.has(id));

  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!enrollment) return <Skeleton className="h-24 w-full" />;
  const expired = Date.parse(enrollment.expires_at) <= now;
  return (
    <div className="space-y-3">
      <p className="text-sm text-muted">
        Copy <code>dist/{HOST_PACKAGE}</code>, which <code>npm run pack</code> writes, to that machine. There,
        as root:
      </p>
      <CodeSnippet code={installLine(location.origin, enrollment.token)} />
      {joined ? (
        <p role="status" className="flex items-center gap-2 rounded-lg bg-ok-soft px-3 py-2.5">
          {joined.status === "online" ? (
            <CircleCheck className="size-4 shrink-0 text-ok" aria-hidden />
          ) : (
            <LoaderCircle className="size-4 shrink-0 animate-spin text-ok" aria-hidden />
          )}
          <span className="min-w-0 flex-1">
            <span className="font-medium">{joined.name}</span>{" "}
            {joined.status === "online"
              ? "is online and takes sessions."
              : "has joined; its daemon is starting."}
          </span>
          <Button size="sm" onClick={onDone}>
            Done
          </Button>
        </p>
      ) : expired ? (
        <p role="status" className="flex items-center gap-2 rounded-lg bg-warn-soft px-3 py-2.5">
          <span className="flex-1">The command has expired.</span>
          <Button size="sm" onClick={() => void refetch()}>
            Make another
          </Button>
        </p>
      ) : (
        <p role="status" className="flex items-center gap-2 rounded-lg bg-sunken px-3 py-2.5 text-muted">
          <LoaderCircle className="size-4 shrink-0 animate-spin" aria-hidden />
          <span>
            Waiting for the machine. The command works once and ends <Time at={enrollment.expires_at} />.
          </span>
        </p>
      )}
    </div>
  );
}
