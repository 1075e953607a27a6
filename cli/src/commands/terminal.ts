/** @module `sandbar terminal` and `sandbar processes`. */
import type { Command } from "commander";
import { UsageError } from "../invocation/explain.ts";
import { cli, existingSession } from "../invocation/global-options.ts";
import { age, dim, printList, printOne } from "../terminal/print.ts";

export function addTerminal(program: Command): void {
  program
    .command("terminal <session>")
    .aliases(["tty", "ssh"])
    .description("an interactive shell in a session; exits with the shell's status")
    .option("-p, --process <id>", "attach to a process that has a terminal")
    .action(async (reference: string, flags: { process?: string }, command: Command) => {
      if (!process.stdin.isTTY) throw new UsageError("this needs a terminal; use `sandbar sh` in scripts");
      const session = await existingSession(cli(command), reference);
      // Some terminals do not know their size and say 0.
      const { columns, rows } = process.stdout;
      const terminal = await session.terminal({
        cols: columns || undefined,
        rows: rows || undefined,
        process: flags.process,
      });
      terminal.onData((data) => process.stdout.write(data));
      process.stdin.setRawMode(true).on("data", (data: Buffer) => terminal.write(data));
      process.stdout.on("resize", () => terminal.resize(process.stdout.columns, process.stdout.rows));
      const exit = await terminal.closed;
      process.stdin.setRawMode(false).pause();
      if (!exit)
        process.stderr.write(dim(`\ndisconnected; sandbar terminal ${reference} -p ${terminal.processId}\n`));
      process.exitCode = exit ? (exit.exit_code ?? 137) : 125;
    });

  const processes = program
    .command("processes")
    .aliases(["ps"])
    .description("long-running commands of a session");
  processes
    .command("list <session>", { isDefault: true })
    .description("processes of a session")
    .alias("ls")
    .action(async (reference: string, _, command: Command) => {
      const context = cli(command);
      const all = await (await existingSession(context, reference)).processes.list();
      printList(
        all.map(({ info }) => info),
        [
          { title: "id", value: (p) => p.id },
          {
            title: "status",
            value: (p) => (p.status === "exited" ? `exited ${p.exit_code ?? p.signal}` : p.status),
          },
          { title: "started", value: (p) => age(p.started_at), right: true },
          { title: "command", value: (p) => p.command.slice(0, 80) },
        ],
        context.output,
      );
    });
  processes
    .command("start <session> <command>")
    .description("start a command that outlives this one")
    .option("--cwd <folder>")
    .action(async (reference: string, text: string, flags: { cwd?: string }, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      printOne((await session.processes.start(text, { cwd: flags.cwd })).info, context.output);
    });
  processes
    .command("logs <session> <process>")
    .description("its output, until it ends")
    .action(async (reference: string, id: string, _, command: Command) => {
      const session = await existingSession(cli(command), reference);
      for await (const event of (await session.processes.get(id)).events()) {
        if (event.type === "stdout") process.stdout.write(event.text);
        else if (event.type === "stderr") process.stderr.write(event.text);
        else if (event.type === "exit") process.exitCode = event.exit_code ?? 137;
      }
    });
  processes
    .command("kill <session> <process>")
    .alias("rm")
    .description("end a process with all it started")
    .action(async (reference: string, id: string, _, command: Command) => {
      const session = await existingSession(cli(command), reference);
      await (await session.processes.get(id)).kill();
    });
}
