/** @module `sandbar chat`: talk with the agent, at a terminal or in a pipe. */
import { text } from "node:stream/consumers";
import { SandbarError } from "@sandbar/sdk";
import { type Command, Option } from "commander";
import { hasInput } from "../chat/attachments.ts";
import { Chat } from "../chat/chat.ts";
import { LastThread } from "../chat/last-thread.ts";
import { type OneShotFormat, oneShot } from "../chat/one-shot.ts";
import { completeCommand, runCommand } from "../chat/slash-commands.ts";
import { UsageError } from "../invocation/explain.ts";
import { cli } from "../invocation/global-options.ts";

interface ChatFlags {
  print?: string;
  file: string[];
  thread?: string;
  new?: boolean;
  continue?: boolean;
  model?: string;
  approve?: boolean;
  readOnly?: boolean;
  output?: OneShotFormat;
}

const HELP = `
At a terminal the last chat of this server and key is continued; --new begins another. With -p one question is
answered, in a new chat unless --continue or --thread says otherwise, and standard input becomes a file in the sandbox.

Examples:
  sandbar chat                                          go on where you left
  sandbar chat --new --file sales.csv                   a new chat about a file
  sandbar chat -p "Which month was best?" < sales.csv   answer on standard output
  sandbar chat -p "And the worst?" --continue           variables and files are still there
  sandbar chat -p "Plot it" --file a.csv -o json | jq .images

Exit codes of -p: 0 answered, 1 the run failed, 2 usage, 3 code waits for approval, 125 it could not be asked
(no model, no server, no key), 130 stopped.`;

export function addChat(program: Command): void {
  program
    .command("chat")
    .description("talk with the agent, which runs code in a sandbox of the chat")
    .option("-p, --print <question>", "answer one question and leave")
    .option(
      "-f, --file <path>",
      "bring a file into the sandbox, repeatable",
      (path: string, all: string[]) => [...all, path],
      [],
    )
    .option("--thread <id>", "the chat to go on in")
    .option("--new", "begin a new chat")
    .option("-c, --continue", "go on in the last chat (with -p)")
    .option("-m, --model <provider:model>", "another model than the settings'")
    .option("--approve", "code waits for your word")
    .option("--read-only", "the agent looks at files and runs nothing")
    .addOption(
      new Option("-o, --output <format>", "how to print the answer of -p (default: table)").choices([
        "table",
        "json",
        "jsonl",
      ]),
    )
    .addHelpText("after", HELP)
    .action(async (flags: ChatFlags, command: Command) => {
      const { client, config } = cli(command);
      const { output = "table" } = command.optsWithGlobals<ChatFlags>();
      const last = new LastThread(client.url, config.apiKey);
      const wishes = {
        ...(flags.model ? { model: flags.model } : {}),
        ...(flags.approve ? { approval: true } : {}),
        ...(flags.readOnly ? { read_only: true } : {}),
      };
      if (flags.new && (flags.thread || flags.continue))
        throw new UsageError("--new and --thread or --continue are two different things");
      const known = async (id: string | null) => (id && (await exists(client, id)) ? id : null);
      const question = flags.print ?? (process.stdin.isTTY ? undefined : (await text(process.stdin)).trim());
      if (question !== undefined) {
        if (question === "") throw new UsageError("the question is empty");
        const thread = flags.thread ?? (flags.continue ? await known(last.get()) : null);
        const stdin = flags.print !== undefined && hasInput();
        process.exitCode = await oneShot({
          ...{ client, question, thread, wishes, stdin, files: flags.file, format: output },
          began: (id) => last.set(id),
        });
        return;
      }
      if (!process.stdout.isTTY || process.env.TERM === "dumb")
        throw new UsageError("this needs a terminal; `sandbar chat -p` is for scripts");
      if (output !== "table") throw new UsageError("-o is for -p");
      const thread = flags.thread ?? (flags.new ? null : await known(last.get()));
      process.exitCode = await new Chat(client, last, wishes, {
        complete: completeCommand,
        run: runCommand,
      }).talk(thread, flags.file);
    });
}

/** One that was deleted elsewhere is not continued. */
async function exists(client: ReturnType<typeof cli>["client"], id: string): Promise<boolean> {
  return client.threads.get(id).then(
    () => true,
    (error: unknown) => {
      if (error instanceof SandbarError && error.status === 404) return false;
      throw error;
    },
  );
}
