/** @module `sandbar snapshots` and `sandbar fork`. */
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Snapshot } from "@sandbar/sdk";
import type { Command } from "commander";
import { cli, existingSession } from "../invocation/global-options.ts";
import { duration, positive } from "../invocation/option-values.ts";
import { untilSignalled } from "../invocation/signals.ts";
import { age, type Column, printList, printOne, size } from "../terminal/print.ts";

const sum = (snapshot: Snapshot, of: "saved" | "degraded" | "lost") =>
  String(snapshot.contexts.reduce((all, context) => all + context[of], 0));

const COLUMNS: Column<Snapshot>[] = [
  { title: "id", value: (s) => s.id },
  { title: "name", value: (s) => s.name ?? "" },
  { title: "session", value: (s) => s.session_id },
  { title: "size", value: (s) => size(s.size), right: true },
  { title: "new", value: (s) => size(s.new_bytes), right: true },
  { title: "saved", value: (s) => sum(s, "saved"), right: true },
  { title: "degraded", value: (s) => sum(s, "degraded"), right: true },
  { title: "lost", value: (s) => sum(s, "lost"), right: true },
  { title: "made", value: (s) => age(s.created_at), right: true },
  { title: "expires", value: (s) => age(s.expires_at), right: true },
];
const ON_BUSY = "when code runs: wait, refuse or fork";

export function addSnapshots(program: Command): void {
  const snapshots = program
    .command("snapshots")
    .alias("snapshot")
    .description("files and variables of sessions, kept outside of them");
  snapshots
    .command("list [session]", { isDefault: true })
    .alias("ls")
    .description("snapshots of a session, or all")
    .action(async (reference: string | undefined, _, command: Command) => {
      const context = cli(command);
      const listed = reference
        ? (await existingSession(context, reference)).snapshots()
        : context.client.snapshots.list();
      printList(await listed.all(), COLUMNS, context.output);
    });
  snapshots
    .command("create <session>")
    .description(
      "keep what a session is now; `sandbar sessions create --snapshot` makes one that begins with it",
    )
    .option("--name <name>", "a name of your own")
    .option("--ttl <time>", "how long it is kept, such as 30m, 12h or 7d", duration)
    .option("--on-busy <what>", ON_BUSY)
    .action(async (reference: string, flags, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      const { name, ttl: ttlS, onBusy } = flags;
      const made = await untilSignalled((signal) => session.snapshot({ name, ttlS, onBusy, signal }));
      printOne(made, context.output);
    });
  snapshots
    .command("get <snapshot>")
    .description("what is in it, and what became of each variable")
    .action(async (id: string, _, command: Command) => {
      const { client, output } = cli(command);
      printOne(await client.snapshots.get(id), output);
    });
  snapshots
    .command("save <snapshot> <file>")
    .description("download it as one file")
    .action(async (id: string, file: string, _, command: Command) => {
      const { client } = cli(command);
      await untilSignalled(async (signal) => {
        const stream = await client.snapshots.download(id, { signal });
        await pipeline(Readable.fromWeb(stream as never), createWriteStream(file, { mode: 0o600 }), {
          signal,
        });
      });
      process.stdout.write(`${file}\n`);
    });
  snapshots
    .command("remove <snapshot...>")
    .alias("rm")
    .description("remove snapshots for good")
    .action(async (ids: string[], _, command: Command) => {
      const { client } = cli(command);
      for (const id of ids) await client.snapshots.delete(id);
    });
  program
    .command("fork <session>")
    .description("new sessions that begin with a session's files and variables")
    .option("-n, --count <number>", "how many", positive, 1)
    .option("--on-busy <what>", ON_BUSY)
    .action(async (reference: string, { count, onBusy }, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      const forks = await untilSignalled((signal) => session.fork(count, { onBusy, signal }));
      const columns = [{ title: "id", value: ({ id }: { id: string }) => id }];
      printList(
        forks.map(({ info }) => info),
        columns,
        context.output,
      );
    });
}
