import { type ReactNode, useState } from "react";
import { CodeSnippet } from "../../ui/code-snippet.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { languageName } from "../../ui/language-name.ts";
import { StateDot } from "../../ui/state-dot.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Time } from "../../ui/time.tsx";
import { VariableReport } from "../../ui/variable-report.tsx";
import { sessionSnippets } from "./session-snippets.ts";
import { useSession } from "./use-session.ts";

/** Everything that a session's description says, and how programs reach it. */
export function Details() {
  const { info } = useSession();
  const [tab, setTab] = useState("curl");
  const { limits } = info;
  return (
    <div className="grid gap-x-8 gap-y-6 px-4 pt-4 pb-6 sm:px-6 xl:grid-cols-2">
      <div className="min-w-0 space-y-6">
        {info.error && <ErrorNote error={info.error} />}
        <Group title="Session">
          <Row name="Id" copy={info.id}>
            <code className="break-all">{info.id}</code>
          </Row>
          <Row name="Key" copy={info.key}>
            <span className="break-all">{info.key}</span>
          </Row>
          <Row name="State">
            <StateDot state={info.status} />
          </Row>
          <Row name="Runtime">{languageName(info.runtime)}</Row>
          <Row name="Engine">{info.engine === "wasm" ? "WebAssembly" : "container"}</Row>
          <Row name="Languages">
            {info.languages?.map(languageName).join(", ") || <None>not known yet</None>}
          </Row>
          <Row name="Can have">
            {info.capabilities?.map(inWords).join(", ") || <None>nothing beside code</None>}
          </Row>
          <Row name="Image" copy={info.image}>
            {info.image ? <code className="break-all">{info.image}</code> : <None>not chosen yet</None>}
          </Row>
          <Row name="Host" copy={info.host_id}>
            {info.host_id ? <code className="break-all">{info.host_id}</code> : <None>none</None>}
          </Row>
        </Group>
        <Group title="Life">
          <Row name="Made">
            <Exact at={info.created_at} />
          </Row>
          <Row name="Last used">
            <Exact at={info.last_used_at} />
          </Row>
          <Row name="Ends">
            {info.expires_at ? <Exact at={info.expires_at} /> : <None>when it is stopped</None>}
          </Row>
        </Group>
        <Group title="What it may use">
          <Row name="Memory">{limits.memory_mb.toLocaleString()} MB</Row>
          <Row name="CPUs">{limits.cpus}</Row>
          <Row name="Processes">{limits.pids.toLocaleString()}</Row>
          <Row name="Disk">
            {info.storage === "TMPFS"
              ? `${limits.tmpfs_mb.toLocaleString()} MB, in memory (TMPFS)`
              : "a folder of the host (BIND)"}
          </Row>
          <Row name="Time for a cell">
            {limits.timeout_s.toLocaleString()} s, unless the cell says otherwise
          </Row>
          <Row name="Network">{networkInWords(info.network)}</Row>
          <Row name="Datasets">
            <code>{info.datasets.access}</code>
          </Row>
        </Group>
        <Group title="Labels">
          {Object.entries(info.labels).map(([name, value]) => (
            <Row key={name} name={name} copy={`${name}=${value}`}>
              <span className="break-all">{value}</span>
            </Row>
          ))}
          {Object.keys(info.labels).length === 0 && (
            <Row name="None">Labels are given when a session is made.</Row>
          )}
        </Group>
      </div>
      <div className="min-w-0 space-y-6">
        {info.restored && (
          <section>
            <h2 className="mb-1 font-semibold">What it began with</h2>
            <p className="mb-2 text-muted">
              The snapshot <code className="text-xs break-all text-text">{info.restored.snapshot}</code>,
              taken <Time at={info.restored.at} />
              {info.restored.contexts.length > 0 && "; its variables:"}
            </p>
            <VariableReport contexts={info.restored.contexts} />
          </section>
        )}
        <section>
          <h2 className="mb-1 font-semibold">From your programs</h2>
          <Tabs
            value={tab}
            onChange={setTab}
            tabs={sessionSnippets(location.origin, info).map(({ id, label, code }) => ({
              value: id,
              label,
              content: <CodeSnippet code={code} />,
            }))}
          />
        </section>
        <section>
          <h2 className="mb-2 font-semibold">As the API says it</h2>
          <CodeSnippet code={JSON.stringify(info, null, 2)} />
        </section>
      </div>
    </div>
  );
}

/** "local_datasets" is "local datasets". */
const inWords = (capability: string) => capability.replaceAll("_", " ");

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h2 className="mb-1.5 font-semibold">{title}</h2>
      <dl className="divide-y divide-line/70 rounded-lg border bg-surface">{children}</dl>
    </section>
  );
}

function Row({ name, copy, children }: { name: string; copy?: string | null; children: ReactNode }) {
  return (
    <div className="grid min-h-9 grid-cols-[7.5rem_1fr] items-center gap-x-3 px-3 py-1">
      <dt className="truncate text-muted" title={name}>
        {name}
      </dt>
      <dd className="flex min-w-0 items-center justify-between gap-3">
        <span className="min-w-0 [&_code]:text-xs">{children}</span>
        {copy && <CopyButton text={copy} label={`Copy ${name.toLowerCase()}`} />}
      </dd>
    </div>
  );
}

function Exact({ at }: { at: string }) {
  return (
    <>
      {new Date(at).toLocaleString()}{" "}
      <span className="text-muted">
        (<Time at={at} />)
      </span>
    </>
  );
}

function None({ children }: { children: ReactNode }) {
  return <span className="text-faint">{children}</span>;
}

function networkInWords(network: ReturnType<typeof useSession>["info"]["network"]): string {
  if (network === "none") return "none";
  if (network === "egress") return "out to the internet (egress)";
  return network.allow.length > 0 ? `only ${network.allow.join(", ")}` : "rules that allow nothing yet";
}
