/** @module `agent-host install`, `doctor`, `upgrade`, `uninstall`. Importing it carries out the one that was typed; Node 20 can. */
import { IdentityError } from "../host/identity.ts";
import { doctor } from "./doctor.ts";
import { install } from "./install.ts";
import { INSTALL_HELP, parseInstallWords, WrongWords } from "./install-command-line.ts";
import { Refused } from "./refused.ts";
import { uninstall } from "./uninstall.ts";
import { upgrade } from "./upgrade.ts";

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function main(words: readonly string[]): Promise<number> {
  const invocation = parseInstallWords(words);
  switch (invocation.verb) {
    case "help":
      process.stdout.write(INSTALL_HELP[invocation.of]);
      return 0;
    case "install":
      await install(invocation, say);
      return 0;
    case "doctor":
      return (await doctor(invocation, say)) ? 0 : 1;
    case "upgrade":
      await upgrade(invocation, say);
      return 0;
    case "uninstall":
      await uninstall(invocation, say);
      return 0;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof WrongWords) {
    process.stderr.write(`${error.message}\n\n${INSTALL_HELP[error.verb]}`);
    process.exitCode = 2;
  } else {
    const expected = error instanceof Refused || error instanceof IdentityError;
    process.stderr.write(
      `${expected || !process.env.DEBUG ? (error as Error).message : (error as Error).stack}\n`,
    );
    process.exitCode = 1;
  }
}
