import type { AuditEntry } from "@sandbar/sdk";
import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Result } from "./audit-columns.tsx";
import { TO } from "./audit-filter.ts";
import type { KeyName } from "./use-key-names.ts";

/** Everything that one line says, and the way to others like it. */
export function AuditDialog({
  entry,
  keyName,
  onClose,
  onFind,
}: {
  entry: AuditEntry | null;
  keyName: KeyName;
  onClose: () => void;
  onFind: (text: string) => void;
}) {
  const who = entry?.token_id ?? entry?.key_id ?? null;
  return (
    <Dialog
      open={entry !== null}
      onOpenChange={(next) => !next && onClose()}
      title={entry?.action ?? "Audit"}
    >
      {entry && (
        <dl className="grid grid-cols-[7rem_1fr] gap-x-4 gap-y-1.5 [&_dt]:text-faint">
          <Row name="When">
            {new Date(entry.at).toLocaleString()}
            {entry.count > 1 && (
              <span className="text-muted">
                {entry.count} times until {new Date(entry.last_at).toLocaleTimeString()}
              </span>
            )}
          </Row>
          <Row name="Result">
            <Result result={entry.result} />
          </Row>
          <Text name="Target" value={entry.target} onFind={(target) => onFind(TO + target)} />
          <Text name="Who" value={who} note={who ? keyName(who) : undefined} onFind={onFind} />
          <Text name="Known by" value={entry.via && VIA[entry.via]} />
          <Text name="From" value={entry.address} onFind={onFind} />
          <Text name="Tenant" value={entry.tenant} />
          <Text name="Request" value={entry.request_id} copy />
          <Text name="Detail" value={entry.detail} />
          <Text name="Id" value={entry.id} copy />
        </dl>
      )}
    </Dialog>
  );
}

const VIA: Record<NonNullable<AuditEntry["via"]>, string> = {
  key: "an API key",
  cookie: "the console's cookie",
  token: "a session's token",
  agent: "the agent, in a key's name",
  host: "a host's proof",
};

function Text({
  name,
  value,
  note,
  copy,
  onFind,
}: {
  name: string;
  value: string | null;
  note?: string;
  copy?: boolean;
  onFind?: (text: string) => void;
}) {
  if (value === null) return null;
  return (
    <Row name={name}>
      {note && <span>{note}</span>}
      <code className="text-xs break-all">{value}</code>
      {copy && <CopyButton text={value} label={`Copy the ${name.toLowerCase()}`} className="-my-1" />}
      {onFind && (
        <IconButton
          label={`Others with this ${name.toLowerCase()}`}
          icon={<Search />}
          className="-my-1"
          onClick={() => onFind(value)}
        />
      )}
    </Row>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd className="flex min-w-0 flex-wrap items-center gap-2">{children}</dd>
    </>
  );
}
