/** @module `sandbar token` and `sandbar tokens`: one session for somebody else, for a while. */
import type { TokenVerb } from "@sandbar/sdk";
import { TOKEN_VERBS } from "@sandbar/shared";
import { type Command, InvalidArgumentError } from "commander";
import { cli, existingSession } from "../invocation/global-options.ts";
import { duration } from "../invocation/option-values.ts";
import { age, printList, printOne } from "../terminal/print.ts";

const VERBS = `
Verbs: run (code, processes), files, terminal, ports, read (executions, output, artifacts). Each includes to look at the
session itself. The token stands wherever an API key does: SANDBAR_API_KEY, an SDK's apiKey, Authorization: Bearer.`;

export function addTokens(program: Command): void {
  program
    .command("token <session>")
    .description("make a token for one session, for a browser, an end user or an agent")
    .requiredOption("--verbs <VERBS>", "run,files,terminal,ports,read, or some of them", verbs)
    .option("--ttl <TIME>", "how long it lasts, such as 30m or 8h; a day at most (default: 1h)", duration)
    .option("--label <TEXT>", "whom it is for, in lists")
    .option("-q, --quiet", "print the token alone")
    .addHelpText("after", VERBS)
    .action(async (reference: string, flags: Flags, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      const { verbs, ttl, label, quiet } = flags;
      const made = await session.createToken({ verbs, ttlS: ttl, label });
      if (quiet) process.stdout.write(`${made.token}\n`);
      else printOne(made, context.output);
    });
  program
    .command("tokens <session>")
    .description("list a session's tokens, or take some back")
    .option("--revoke <ID...>", "take these back; what they have open ends within seconds")
    .action(async (reference: string, { revoke }: { revoke?: string[] }, command: Command) => {
      const context = cli(command);
      const session = await existingSession(context, reference);
      for (const id of revoke ?? []) {
        await session.removeToken(id);
        process.stderr.write(`took back ${id}\n`);
      }
      if (revoke) return;
      printList(
        await session.tokens().all(),
        [
          { title: "id", value: (one) => one.id },
          { title: "verbs", value: (one) => one.verbs.join(",") },
          { title: "label", value: (one) => one.label ?? "" },
          { title: "made", value: (one) => age(one.created_at), right: true },
          { title: "expires", value: (one) => age(one.expires_at), right: true },
        ],
        context.output,
      );
    });
}

interface Flags {
  verbs: TokenVerb[];
  ttl?: number;
  label?: string;
  quiet?: boolean;
}

function verbs(text: string): TokenVerb[] {
  const named = [...new Set(text.split(/[\s,]+/).filter((verb) => verb !== ""))];
  const wrong = named.find((verb) => !TOKEN_VERBS.some((known) => known === verb));
  if (wrong !== undefined || named.length === 0)
    throw new InvalidArgumentError(`must be some of ${TOKEN_VERBS.join(",")}`);
  return named as TokenVerb[];
}
