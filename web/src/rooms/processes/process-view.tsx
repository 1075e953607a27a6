import { type ListeningPort, Process, type ProcessRecord, type Session } from "@sandbar/sdk";
import { Link } from "@tanstack/react-router";
import { ArrowLeft, ChevronDown, Globe, SquareTerminal, Trash2 } from "lucide-react";
import { type FormEvent, lazy, type ReactNode, Suspense, useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { commandWords } from "../../api/shell-command.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input } from "../../ui/input.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { stateOf, stateWords } from "./exit-words.ts";

const ProcessOutput = lazy(() => import("./process-output.tsx"));

const SIGNALS: [name: string, label: string][] = [
  ["SIGTERM", "Ask it to end (SIGTERM)"],
  ["SIGINT", "Interrupt (SIGINT)"],
  ["SIGHUP", "Hang up (SIGHUP)"],
  ["SIGKILL", "Kill (SIGKILL)"],
];

/** One process: what it prints, what it is given, how it is ended. */
export function ProcessView({
  session,
  info,
  ports,
  onChanged,
  onRemoved,
  onPort,
  onBack,
}: {
  session: Session;
  info: ProcessRecord;
  /** On which it listens. */
  ports: readonly ListeningPort[];
  onChanged: () => void;
  onRemoved: () => void;
  onPort: (port: number) => void;
  onBack: () => void;
}) {
  const process = useMemo(
    () => new Process(sandbar.http, `/v1/sessions/${session.id}/processes`, info),
    [session.id, info.id],
  );
  const [removing, setRemoving] = useState(false);
  const running = info.status === "running";
  const act = (doing: string, what: Promise<unknown>) =>
    what.then(onChanged, (error: unknown) => toastError(error, doing));
  const remove = async () => {
    await process.kill();
    onRemoved();
  };
  return (
    <>
      <header className="shrink-0 border-b bg-surface px-4 py-2">
        <div className="flex items-center gap-2">
          <IconButton
            label="Back to the list"
            icon={<ArrowLeft />}
            className="-ml-2 md:hidden"
            onClick={onBack}
          />
          <code className="min-w-0 flex-1 truncate text-sm font-medium" title={info.command}>
            {commandWords(info.command)}
          </code>
          <span className="flex shrink-0 items-center gap-1">
            {info.pty && running && (
              <Link
                to="/sessions/$id/terminal"
                params={{ id: session.id }}
                search={{ process: info.id }}
                className="inline-flex h-6.5 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-2 text-xs font-medium hover:bg-hover [&_svg]:size-3.5"
              >
                <SquareTerminal aria-hidden />
                <span className="max-sm:sr-only">Open in Terminal</span>
              </Link>
            )}
            {running && (
              <Menu
                trigger={
                  <Button size="sm">
                    Signal
                    <ChevronDown />
                  </Button>
                }
                items={SIGNALS.map(([name, label]) => ({
                  label,
                  danger: name === "SIGKILL",
                  onSelect: () => void act("Signal", process.signal(name)),
                }))}
              />
            )}
            <IconButton
              label={running ? "End and remove" : "Remove"}
              icon={<Trash2 />}
              danger
              onClick={() =>
                running ? setRemoving(true) : void remove().catch((error) => toastError(error, "Remove"))
              }
            />
          </span>
        </div>
        <dl className="mt-1 flex flex-wrap items-center gap-x-4 gap-y-0.5 text-xs text-muted">
          <div>
            <dt className="sr-only">state</dt>
            <dd>
              <StateDot state={stateOf(info)} label={stateWords(info)} />
            </dd>
          </div>
          <Fact name="pid">{info.pid}</Fact>
          <Fact name="in">
            <code>{info.cwd}</code>
          </Fact>
          <Fact name="started">
            <Time at={info.started_at} />
          </Fact>
          {info.finished_at && (
            <Fact name="ended">
              <Time at={info.finished_at} />
            </Fact>
          )}
          <div>
            <dt className="sr-only">id</dt>
            <dd className="flex items-center">
              <code className="text-faint">{info.id}</code>
              <CopyButton text={info.id} label="Copy the id" className="size-5! [&_svg]:size-3!" />
            </dd>
          </div>
        </dl>
        {ports.length > 0 && running && (
          <p className="mt-1.5 flex flex-wrap items-center gap-2 text-xs text-muted">
            Listens:
            {ports.map(({ port }) => (
              <Button key={port} size="sm" icon={<Globe />} onClick={() => onPort(port)}>
                Open port {port}
              </Button>
            ))}
          </p>
        )}
      </header>
      <div className="min-h-0 flex-1">
        <Suspense fallback={<Skeleton className="m-4 h-40" />}>
          <ProcessOutput key={info.id} process={process} onExit={onChanged} />
        </Suspense>
      </div>
      {running && !info.pty && <Stdin process={process} />}
      <ConfirmDialog
        open={removing}
        onOpenChange={setRemoving}
        title="End and remove this process?"
        action="End it"
        onConfirm={remove}
      >
        It is killed with everything that it started, and its output is forgotten.
      </ConfirmDialog>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-1">
      <dt className="text-faint">{name}</dt>
      <dd className="tabular-nums">{children}</dd>
    </div>
  );
}

function Stdin({ process }: { process: Process }) {
  const [text, setText] = useState("");
  const [closed, setClosed] = useState(false);
  const send = (event: FormEvent) => {
    event.preventDefault();
    process.write(`${text}\n`).then(
      () => setText(""),
      (error: unknown) => toastError(error, "Send"),
    );
  };
  const end = () => {
    process.write("", { eof: true }).then(
      () => setClosed(true),
      (error: unknown) => toastError(error, "Close the input"),
    );
  };
  if (closed)
    return (
      <p className="shrink-0 border-t bg-surface px-4 py-2.5 text-xs text-muted">Its input is closed.</p>
    );
  return (
    <form onSubmit={send} className="flex shrink-0 gap-2 border-t bg-surface px-4 py-2">
      <Input
        mono
        aria-label="A line for its input"
        placeholder="A line of input"
        className="flex-1"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit">Send</Button>
      <Button tone="quiet" onClick={end}>
        Close input
      </Button>
    </form>
  );
}
