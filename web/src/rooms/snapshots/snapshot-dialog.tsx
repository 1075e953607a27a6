import type { Snapshot } from "@sandbar/sdk";
import { Link } from "@tanstack/react-router";
import { Download, Play, Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Bytes } from "../../ui/bytes.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Time } from "../../ui/time.tsx";
import { VariableReport } from "../../ui/variable-report.tsx";
import { contentUrl, nameOf } from "./snapshot-names.ts";

/** One snapshot: what is in it, what could not be kept, and what can be done with it. */
export function SnapshotDialog({
  snapshot,
  sessionName,
  onClose,
  onStart,
  onDelete,
}: {
  snapshot: Snapshot | null;
  sessionName: (id: string) => string | undefined;
  onClose: () => void;
  onStart: (snapshot: Snapshot) => void;
  onDelete: (snapshot: Snapshot) => void;
}) {
  return (
    <Dialog
      open={snapshot !== null}
      onOpenChange={(next) => !next && onClose()}
      title={snapshot ? nameOf(snapshot) : "Snapshot"}
      width="lg"
      footer={
        snapshot && (
          <>
            <Button tone="quiet" icon={<Trash2 />} className="mr-auto" onClick={() => onDelete(snapshot)}>
              Delete…
            </Button>
            <a
              href={contentUrl(snapshot.id)}
              download={`${snapshot.id}.sandbar`}
              className="inline-flex h-8 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-3 text-sm font-medium hover:bg-hover [&_svg]:size-3.5"
            >
              <Download aria-hidden /> Download
            </a>
            <Button tone="primary" icon={<Play />} onClick={() => onStart(snapshot)}>
              Start a session
            </Button>
          </>
        )
      }
    >
      {snapshot && (
        <>
          <dl className="mb-5 grid grid-cols-[4.5rem_1fr] gap-x-4 gap-y-1.5 [&_dt]:text-faint">
            <Row name="Of">
              <Link
                to="/sessions/$id"
                params={{ id: snapshot.session_id }}
                className="min-w-0 truncate text-accent hover:underline"
                title={snapshot.session_id}
              >
                {sessionName(snapshot.session_id) ?? <code className="text-xs">{snapshot.session_id}</code>}
              </Link>
              <span className="text-muted">
                {languageName(snapshot.runtime)}
                {snapshot.engine === "wasm" && " in WebAssembly"}
              </span>
            </Row>
            <Row name="Taken">
              {new Date(snapshot.created_at).toLocaleString()}
              <span className="text-muted">
                <Time at={snapshot.created_at} />
              </span>
            </Row>
            <Row name="Kept until">
              {new Date(snapshot.expires_at).toLocaleString()}
              <span className="text-muted">
                <Time at={snapshot.expires_at} />
              </span>
            </Row>
            <Row name="Size">
              <Bytes value={snapshot.size} />
              <span className="text-muted">
                <Bytes value={snapshot.files_bytes} /> of it files, <Bytes value={snapshot.new_bytes} /> that
                no earlier one had
              </span>
            </Row>
            <Row name="Id">
              <code className="text-xs break-all">{snapshot.id}</code>
              <CopyButton text={snapshot.id} label="Copy the id" className="-my-1" />
            </Row>
          </dl>
          {snapshot.contexts.length > 0 ? (
            <VariableReport contexts={snapshot.contexts} />
          ) : (
            <p className="text-muted">It has files alone: no context had variables.</p>
          )}
        </>
      )}
    </Dialog>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-0.5">{children}</dd>
    </>
  );
}
