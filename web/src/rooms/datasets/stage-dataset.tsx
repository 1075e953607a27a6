import { type Dataset, Session } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Field } from "../../ui/field.tsx";
import { Input } from "../../ui/input.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Select } from "../../ui/select.tsx";
import { toast } from "../../ui/toast.tsx";

type From = "source" | "artifact" | "file";
export interface Target {
  id: string;
  key: string;
}

/** Brings a dataset into a session: from a source, from an artifact, or a file of one's own. */
export function StageDataset({
  open,
  onOpenChange,
  targets,
  again,
  onStaged,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Sessions that take datasets. */
  targets: readonly Target[];
  /** What is staged again. */
  again?: { session: string; id: string } | null;
  onStaged: () => void;
}) {
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title={again ? `Stage ${again.id} again` : "Stage a dataset"}
      description="It appears below /session/data, whole, when all of it has arrived."
    >
      {open && (
        <StageForm
          targets={targets}
          again={again ?? null}
          onStaged={(dataset) => {
            onStaged();
            toast("Staged", dataset.path);
            onOpenChange(false);
          }}
        />
      )}
    </Dialog>
  );
}

/** Artifacts that are offered by name. */
const NEWEST = 50;

function StageForm({
  targets,
  again,
  onStaged,
}: {
  targets: readonly Target[];
  again: { session: string; id: string } | null;
  onStaged: (dataset: Dataset) => void;
}) {
  const me = useMe();
  const [session, setSession] = useState(again?.session ?? targets[0]?.id ?? "");
  const [id, setId] = useState(again?.id ?? "");
  const [from, setFrom] = useState<From>("source");
  const [source, setSource] = useState("");
  const [artifact, setArtifact] = useState("");
  const [file, setFile] = useState<File | null>(null);
  const [version, setVersion] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const sources = useQuery({
    queryKey: keys.datasetSources,
    queryFn: () => sandbar.datasetSources.list().all(),
    enabled: mayOperate(me),
  });

  const artifacts = useQuery({
    queryKey: [...keys.artifacts, "newest"],
    queryFn: async () => (await sandbar.artifacts.list().page(undefined, NEWEST)).data,
    enabled: from === "artifact",
  });

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const { datasets } = new Session(
        sandbar.http,
        await sandbar.getSession(session).then(({ info }) => info),
      );
      const options = version.trim() ? { version: version.trim() } : {};
      const origin =
        from === "file"
          ? () => file!
          : from === "artifact"
            ? { artifact_id: artifact.trim() }
            : { source: source.trim() };
      const dataset = await datasets.select(id.trim(), origin, options);
      // A source that fails is an answer, which says why.
      if (dataset.status === "FAILED") throw dataset.error ?? new Error("it could not be staged");
      onStaged(dataset);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const ready =
    session && id.trim() && (from === "file" ? file : from === "artifact" ? artifact.trim() : true);
  return (
    <form onSubmit={(event) => void submit(event)} className="space-y-4">
      {targets.length > 1 && !again && (
        <Field label="Session">
          {(ids) => (
            <Select
              id={ids.id}
              value={session}
              onChange={setSession}
              className="w-full"
              options={targets.map((target) => ({ value: target.id, label: target.key }))}
            />
          )}
        </Field>
      )}
      <Field label="Id" hint="Names the file: sales becomes sales.parquet, prices.csv stays">
        {(ids) => (
          <Input
            {...ids}
            mono
            required
            autoFocus={!again}
            readOnly={again !== null}
            placeholder="sales"
            value={id}
            onChange={(event) => setId(event.target.value)}
          />
        )}
      </Field>
      <Segments
        label="From"
        value={from}
        onChange={setFrom}
        options={[
          { value: "source", label: "A source" },
          { value: "artifact", label: "An artifact" },
          { value: "file", label: "A file" },
        ]}
      />
      {from === "source" && (
        <Field label="Source" hint="Its name; empty when there is only one">
          {(ids) => (
            <>
              <Input
                {...ids}
                mono
                list="dataset-sources"
                value={source}
                onChange={(event) => setSource(event.target.value)}
              />
              <datalist id="dataset-sources">
                {sources.data?.map(({ id: known, name }) => (
                  <option key={known} value={name} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      )}
      {from === "artifact" && (
        <Field label="Artifact" hint="Its id, as the room of artifacts shows it">
          {(ids) => (
            <>
              <Input
                {...ids}
                mono
                list="newest-artifacts"
                placeholder="art_…"
                value={artifact}
                onChange={(event) => setArtifact(event.target.value)}
              />
              <datalist id="newest-artifacts">
                {artifacts.data?.map(({ id: known, name }) => (
                  <option key={known} value={known} label={name} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      )}
      {from === "file" && (
        <Field label="File">
          {(ids) => (
            <input
              {...ids}
              type="file"
              onChange={(event) => setFile(event.target.files?.[0] ?? null)}
              className="block w-full text-sm text-muted file:mr-3 file:h-8 file:rounded-md file:border file:border-line-strong file:bg-surface file:px-3 file:text-sm file:font-medium file:text-text"
            />
          )}
        </Field>
      )}
      <Field label="Version" hint="Optional: what is loaded already in this version is not fetched again">
        {(ids) => (
          <Input {...ids} mono value={version} onChange={(event) => setVersion(event.target.value)} />
        )}
      </Field>
      {error != null && <ErrorNote error={error} />}
      <div className="flex justify-end">
        <Button type="submit" tone="primary" busy={busy} disabled={!ready}>
          Stage
        </Button>
      </div>
    </form>
  );
}
