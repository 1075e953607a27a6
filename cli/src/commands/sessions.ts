/** @module `sandbar sessions`, `sandbar state` and `sandbar contexts`. */
import type { Session as SessionRecord } from "@sandbar/shared";
import { Argument, type Command } from "commander";
import {
  addSessionFlags,
  cli,
  existingSession,
  type SessionFlags,
  sessionFor,
} from "../invocation/global-options.ts";
import { age, type Column, printList, printOne, size } from "../terminal/print.ts";

const SESSION_COLUMNS: Column<SessionRecord>[] = [
  { title: "id", value: (s) => s.id },
  { title: "key", value: (s) => s.key },
  { title: "runtime", value: (s) => s.runtime },
  { title: "engine", value: (s) => s.engine },
  { title: "status", value: (s) => s.status },
  { title: "storage", value: (s) => `${s.storage}_${s.datasets.access}` },
  { title: "used", value: (s) => age(s.last_used_at), right: true },
  { title: "expires", value: (s) => age(s.expires_at), right: true },
];

export function addSessions(program: Command): void {
  const sessions = program.command("sessions").alias("session").description("list, make and stop sessions");
  sessions
    .command("list", { isDefault: true })
    .alias("ls")
    .description("sessions of this tenant")
    .option("--status <status>", "only those in this state, such as ready or stopped")
    .option("--key <key>", "only those of this key")
    .option("--label <label>", "NAME=VALUE")
    .option("-a, --all", "also those that have ended")
    .action(async (flags, command: Command) => {
      const { client, output } = cli(command);
      const { all, status, key, label } = flags;
      const listed = await client.sessions({ status, key, label }).all();
      const shown = all || status ? listed : listed.filter((session) => !ENDED.has(session.status));
      printList(shown, SESSION_COLUMNS, output);
    });
  sessions
    .command("get <session>")
    .description("one session, by id or key")
    .action(async (reference: string, _, command: Command) => {
      const context = cli(command);
      printOne((await existingSession(context, reference)).info, context.output);
    });
  addSessionFlags(sessions.command("create [key]"))
    .description("make a session, or find the one with this key")
    .action(async (key: string | undefined, flags: SessionFlags, command: Command) => {
      const context = cli(command);
      const { session } = await sessionFor(context, { ...flags, session: key ?? flags.session, keep: true });
      printOne(session.info, context.output);
    });
  sessions
    .command("stop <session...>")
    .aliases(["rm", "delete"])
    .description("stop sessions, by id or key; artifacts stay")
    .option("--purge", "also remove the folders that sessions with storage BIND leave on their hosts")
    .action(async (references: string[], { purge }: { purge?: boolean }, command: Command) => {
      const context = cli(command);
      for (const reference of references) {
        const { id } = await existingSession(context, reference);
        await context.client.stopSession(id, { purge });
        process.stderr.write(`stopped ${id}\n`);
      }
    });

  program
    .command("state <session>")
    .description("variables, imports and working directory")
    .option("--context <name>", "kernel to look at")
    .action(async (reference: string, flags: { context?: string }, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      const state = await session.state(flags);
      if (context.output === "json") return printOne(state, "json");
      printList(
        state.variables,
        [
          { title: "name", value: (v) => v.name },
          { title: "type", value: (v) => v.type },
          { title: "size", value: (v) => size(v.size), right: true },
          { title: "value", value: (v) => v.repr.slice(0, 80) },
        ],
        "table",
      );
      const left = state.total - state.variables.length;
      if (left > 0) process.stdout.write(`and ${left} more\n`);
      process.stdout.write(`cwd ${state.cwd}\nimports ${state.imports.join(", ") || "-"}\n`);
    });

  const contexts = program.command("contexts").description("named kernels of a session");
  contexts
    .command("list <session>", { isDefault: true })
    .description("kernels of a session")
    .alias("ls")
    .action(async (reference: string, _, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      printList(
        await session.contexts.list(),
        [
          { title: "id", value: (c) => c.id },
          { title: "name", value: (c) => c.name },
          { title: "language", value: (c) => c.language },
          { title: "running", value: (c) => c.running },
          { title: "queued", value: (c) => c.queued, right: true },
        ],
        context.output,
      );
    });
  contexts
    .command("create <session> <name>")
    .description("start another kernel in a session")
    .addArgument(new Argument("<language>").choices(["python", "node", "r", "bash"]))
    .action(async (reference: string, name: string, language: "python", _, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      printOne(await session.contexts.create(name, language), context.output);
    });
  for (const [verb, description] of [
    ["restart", "a fresh kernel: files stay, variables go"],
    ["remove", "end a kernel"],
  ] as const)
    contexts
      .command(`${verb} <session> <name>`)
      .description(description)
      .action(async (reference: string, name: string, _, command: Command) => {
        const session = await existingSession(cli(command), reference);
        await session.contexts[verb](name);
        process.stderr.write(`${verb === "restart" ? "restarted" : "removed"} ${name}\n`);
      });
}

const ENDED = new Set(["stopped", "lost", "failed"]);
