/** @module `sandbar artifacts` and `sandbar datasets`. */
import { readFileSync } from "node:fs";
import type { Artifact } from "@sandbar/sdk";
import { saveArtifact } from "@sandbar/sdk/node";
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { cli, existingSession } from "../invocation/global-options.ts";
import { number } from "../invocation/option-values.ts";
import { untilSignalled } from "../invocation/signals.ts";
import { age, type Column, printList, printOne, size } from "../terminal/print.ts";
import { progressBar } from "../terminal/progress.ts";

const COLUMNS: Column<Artifact>[] = [
  { title: "id", value: (a) => a.id },
  { title: "name", value: (a) => a.name },
  { title: "size", value: (a) => size(a.size), right: true },
  { title: "type", value: (a) => a.mime },
  { title: "session", value: (a) => a.session_id },
  { title: "made", value: (a) => age(a.created_at), right: true },
];

export function addArtifacts(program: Command): void {
  const artifacts = program
    .command("artifacts")
    .alias("artifact")
    .description("files that sessions left behind");
  artifacts
    .command("list [session]", { isDefault: true })
    .alias("ls")
    .description("artifacts of a session, or all")
    .action(async (reference: string | undefined, _, command: Command) => {
      const context = cli(command);
      const of = reference ? (await existingSession(context, reference)).artifacts : context.client.artifacts;
      printList(await of.list().all(), COLUMNS, context.output);
    });
  artifacts
    .command("get <artifact>")
    .description("save an artifact as a file, or print it")
    .action(async (id: string, _, command: Command) => {
      const { client, output } = cli(command);
      printOne(await client.artifacts.get(id), output);
    });
  artifacts
    .command("save <artifact> [path]")
    .description("download; - writes to standard output")
    .action(async (id: string, path: string | undefined, _, command: Command) => {
      const { client } = cli(command);
      if (path === "-") return void process.stdout.write(await client.artifacts.read(id));
      const artifact = await client.artifacts.get(id);
      const bar = progressBar(artifact.name);
      const saved = await untilSignalled((signal) =>
        saveArtifact(client.artifacts, artifact, path ?? "./", { signal, onProgress: bar.update }),
      );
      bar.done();
      process.stdout.write(`${saved}\n`);
    });
  artifacts
    .command("link <artifact>")
    .description("a URL that works without a key, for a while")
    .option("--expires <seconds>", "how long", number)
    .action(async (id: string, flags: { expires?: number }, command: Command) => {
      const { client, output } = cli(command);
      const link = await client.artifacts.link(id, { expiresInS: flags.expires });
      if (output === "json") return printOne(link, "json");
      process.stdout.write(`${link.url}\n`);
    });
  artifacts
    .command("remove <artifact...>")
    .description("remove artifacts for good")
    .alias("rm")
    .action(async (ids: string[], _, command: Command) => {
      for (const id of ids) await cli(command).client.artifacts.delete(id);
    });

  const datasets = program.command("datasets").alias("dataset").description("datasets of a session");
  datasets
    .command("list <session>", { isDefault: true })
    .description("datasets of a session")
    .alias("ls")
    .action(async (reference: string, _, command: Command) => {
      const context = cli(command);
      const { access, data } = await (await existingSession(context, reference)).datasets.list();
      if (context.output === "json") return printOne({ access, data }, "json");
      if (access === "NONE")
        return void process.stdout.write("This session has no datasets (access NONE).\n");
      printList(
        data,
        [
          { title: "id", value: (d) => d.id },
          { title: "status", value: (d) => d.status },
          { title: "size", value: (d) => size(d.size), right: true },
          { title: "version", value: (d) => d.version },
          { title: "path", value: (d) => d.path },
        ],
        "table",
      );
    });
  datasets
    .command("select <session> <dataset>")
    .description("stage a dataset from a local file, a registered source, or an artifact")
    .option("--file <path>")
    .option("--source <name>")
    .option("--artifact <id>")
    .option("--version <version>")
    .action(async (reference: string, id: string, flags: Record<string, string>, command: Command) => {
      const context = cli(command);
      const { datasets: of } = await existingSession(context, reference);
      const { file, source, artifact, version } = flags;
      const from = file
        ? () => ({ bytes: readLocal(file), version })
        : source
          ? { source }
          : artifact
            ? { artifact_id: artifact }
            : null;
      if (from === null) throw new UsageError("give --file, --source or --artifact");
      printOne(await of.select(id, from, { version }), context.output);
    });
  datasets
    .command("export <session> <dataset>")
    .description("keep the dataset as it is now as an artifact")
    .action(async (reference: string, id: string, _, command: Command) => {
      const context = cli(command);
      printOne(await (await existingSession(context, reference)).datasets.export(id), context.output);
    });
}

function readLocal(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${(error as Error).message}`);
  }
}
