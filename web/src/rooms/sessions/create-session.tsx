import type { Language, Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ChevronRight, Plus, X } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { queryClient, sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input, TextArea } from "../../ui/input.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Select } from "../../ui/select.tsx";
import { type CreateForm, EMPTY_FORM, requestOf } from "./create-form.ts";
import { CreationProgress } from "./creation-progress.tsx";

const RUNTIMES: { value: Language; label: string }[] = [
  { value: "python", label: "Python" },
  { value: "node", label: "Node" },
  { value: "r", label: "R" },
  { value: "bash", label: "bash" },
];

/** The form, and then how the making goes. */
export function CreateSessionDialog({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const navigate = useNavigate();
  const [form, setForm] = useState<CreateForm>(EMPTY_FORM);
  const [wrong, setWrong] = useState<Partial<Record<keyof CreateForm, string>>>({});
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<Session | null>(null);
  const set = (change: Partial<CreateForm>) => setForm((before) => ({ ...before, ...change }));

  const close = () => {
    onOpenChange(false);
    setMade(null);
    setError(null);
    setWrong({});
  };
  const submit = async () => {
    const result = requestOf(form);
    if ("wrong" in result) return setWrong(result.wrong);
    setWrong({});
    setError(null);
    setBusy(true);
    try {
      const session = await sandbar.session(result.request, { wait: false });
      void queryClient.invalidateQueries({ queryKey: keys.sessions });
      setMade(session);
      if (session.info.status === "ready" || session.info.status === "busy") enter(session);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const enter = (session: Session) => {
    setForm(EMPTY_FORM);
    close();
    void navigate({ to: "/sessions/$id", params: { id: session.id } });
  };

  return (
    <Dialog
      open={open}
      onOpenChange={(next) => (next ? onOpenChange(true) : close())}
      title={made ? `Making ${made.key}` : "New session"}
      width="lg"
      footer={
        made ? (
          <Button tone="quiet" onClick={close}>
            Leave it to itself
          </Button>
        ) : (
          <>
            <Button tone="quiet" onClick={close}>
              Cancel
            </Button>
            <Button tone="primary" type="submit" form="create-session" busy={busy}>
              Create session
            </Button>
          </>
        )
      }
    >
      {made ? (
        <CreationProgress session={made} onReady={() => enter(made)} onAgain={() => setMade(null)} />
      ) : (
        <form
          id="create-session"
          className="space-y-4 pt-1"
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            void submit();
          }}
        >
          <div className="grid gap-4 sm:grid-cols-2">
            <div>
              <span className="mb-1 block text-xs font-medium text-muted">Runtime</span>
              <Segments
                label="Runtime"
                value={form.runtime}
                options={RUNTIMES}
                onChange={(runtime) => set({ runtime })}
              />
            </div>
            <Field label="Key" hint="The same key finds the same session again.">
              {(ids) => (
                <Input
                  {...ids}
                  autoFocus
                  maxLength={256}
                  placeholder="conversation-17"
                  value={form.key}
                  onChange={(event) => set({ key: event.target.value })}
                />
              )}
            </Field>
          </div>
          <div className="grid gap-4 sm:grid-cols-3">
            <Field label="Storage">
              {({ id }) => (
                <Select
                  id={id}
                  className="w-full"
                  value={form.storage}
                  onChange={(storage) => set({ storage })}
                  options={[
                    { value: "TMPFS", label: "Memory", hint: "/session is gone with the session" },
                    { value: "BIND", label: "Folder of the host", hint: "/session stays on the host" },
                  ]}
                />
              )}
            </Field>
            <Field label="Datasets">
              {({ id }) => (
                <Select
                  id={id}
                  className="w-full"
                  value={form.datasets}
                  onChange={(datasets) => set({ datasets })}
                  options={[
                    { value: "NONE", label: "None" },
                    { value: "LOCAL_RO", label: "The host's, read-only", hint: "mounted at /data" },
                    { value: "API", label: "Staged on demand", hint: "into /session/data" },
                  ]}
                />
              )}
            </Field>
            <Field label="Network">
              {({ id }) => (
                <Select
                  id={id}
                  className="w-full"
                  value={form.network}
                  onChange={(network) => set({ network })}
                  options={[
                    { value: "none", label: "None", hint: "nothing but loopback" },
                    { value: "egress", label: "Internet", hint: "not the host, not private ranges" },
                  ]}
                />
              )}
            </Field>
          </div>
          <More title="Packages" open={Boolean(wrong.dependencies)} note={countLines(form.dependencies)}>
            <Field
              label={
                form.runtime === "node"
                  ? "npm packages"
                  : form.runtime === "r"
                    ? "R packages"
                    : "Python packages"
              }
              hint="One a line, with a version or without. Installed before the session starts; no network needed in it."
              error={wrong.dependencies}
            >
              {(ids) => (
                <TextArea
                  {...ids}
                  mono
                  rows={3}
                  placeholder={form.runtime === "node" ? "lodash@4\nzod" : "polars==1.9.0\nhumanize"}
                  value={form.dependencies}
                  onChange={(event) => set({ dependencies: event.target.value })}
                />
              )}
            </Field>
          </More>
          <More
            title="Limits and life"
            open={["memory_mb", "cpus", "timeout_s", "pids", "tmpfs_mb", "idle", "lifetime"].some(
              (name) => name in wrong,
            )}
          >
            <div className="grid grid-cols-2 gap-3 sm:grid-cols-4">
              {(
                [
                  ["memory_mb", "Memory, MB"],
                  ["cpus", "CPUs"],
                  ["pids", "Processes"],
                  ["tmpfs_mb", "Files in memory, MB"],
                  ["timeout_s", "Cell timeout, s"],
                  ["idle", "Ends when idle for", "30m"],
                  ["lifetime", "Ends at the latest after", "2h"],
                ] as const
              ).map(([name, label, example]) => (
                <Field key={name} label={label} error={wrong[name]}>
                  {(ids) => (
                    <Input
                      {...ids}
                      placeholder={example ?? "host's default"}
                      value={form[name]}
                      onChange={(event) => set({ [name]: event.target.value })}
                    />
                  )}
                </Field>
              ))}
            </div>
          </More>
          <More title="Volumes" open={Boolean(wrong.volumes)} note={form.volumes.length || null}>
            <Volumes value={form.volumes} onChange={(volumes) => set({ volumes })} error={wrong.volumes} />
          </More>
          <More
            title="Labels, environment, image"
            open={Boolean(wrong.labels || wrong.env)}
            note={countLines(`${form.labels}\n${form.env}\n${form.image}`)}
          >
            <div className="grid gap-3 sm:grid-cols-2">
              <Field label="Labels" error={wrong.labels}>
                {(ids) => (
                  <TextArea
                    {...ids}
                    mono
                    rows={2}
                    placeholder="team=ml"
                    value={form.labels}
                    onChange={(event) => set({ labels: event.target.value })}
                  />
                )}
              </Field>
              <Field label="Environment variables" error={wrong.env}>
                {(ids) => (
                  <TextArea
                    {...ids}
                    mono
                    rows={2}
                    placeholder="MODE=test"
                    value={form.env}
                    onChange={(event) => set({ env: event.target.value })}
                  />
                )}
              </Field>
              <Field
                label="Image"
                hint="Empty for the runtime's own; others must be on the operator's list."
                className="sm:col-span-2"
              >
                {(ids) => (
                  <Input
                    {...ids}
                    mono
                    placeholder="registry.example/team/image:tag"
                    value={form.image}
                    onChange={(event) => set({ image: event.target.value })}
                  />
                )}
              </Field>
            </div>
          </More>
          {error != null && <ErrorNote error={error} />}
        </form>
      )}
    </Dialog>
  );
}

function countLines(text: string): number | null {
  return text.split("\n").filter((line) => line.trim()).length || null;
}

function More({
  title,
  note,
  open,
  children,
}: {
  title: string;
  note?: number | null;
  open?: boolean;
  children: ReactNode;
}) {
  return (
    <details className="group border-t pt-3" open={open || undefined}>
      <summary className="flex cursor-pointer list-none items-center gap-1.5 rounded font-medium">
        <ChevronRight className="size-3.5 text-faint transition-transform group-open:rotate-90" aria-hidden />
        {title}
        {note ? <span className="text-xs font-normal text-faint tabular-nums">{note}</span> : null}
      </summary>
      <div className="pt-3">{children}</div>
    </details>
  );
}

function Volumes({
  value,
  onChange,
  error,
}: {
  value: CreateForm["volumes"];
  onChange: (value: CreateForm["volumes"]) => void;
  error?: string;
}) {
  const known = useQuery({ queryKey: keys.volumes, queryFn: () => sandbar.volumes.list().all() });
  const change = (index: number, part: Partial<CreateForm["volumes"][number]>) =>
    onChange(value.map((mount, at) => (at === index ? { ...mount, ...part } : mount)));
  return (
    <div className="space-y-2">
      <datalist id="known-volumes">
        {known.data?.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {value.map((mount, index) => (
        <div key={`row ${index + 1}`} className="flex items-center gap-2">
          <Input
            aria-label="Volume"
            list="known-volumes"
            placeholder="models"
            value={mount.name}
            onChange={(event) => change(index, { name: event.target.value })}
          />
          <Input
            aria-label="Path"
            mono
            placeholder="/mnt/models"
            value={mount.path}
            onChange={(event) => change(index, { path: event.target.value })}
          />
          <IconButton
            label="Remove"
            icon={<X />}
            onClick={() => onChange(value.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      {error && <p className="text-xs text-danger">{error}</p>}
      <Button
        size="sm"
        icon={<Plus />}
        disabled={value.length >= 8}
        onClick={() => onChange([...value, { name: "", path: "" }])}
      >
        Add a volume
      </Button>
      <p className="text-xs text-faint">Volumes outlive sessions. A new name makes a new one.</p>
    </div>
  );
}
