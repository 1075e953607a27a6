/** @module Settings are environment variables, so most arguments are mistakes that must not be passed over. */

import { type ParseArgsConfig, parseArgs } from "node:util";

/** Shows the help or the mistake and leaves; otherwise says what was given for the known options. */
export function argumentsOf<const O extends NonNullable<ParseArgsConfig["options"]>>(
  help: string,
  options: O,
  args: string[] = process.argv.slice(2),
) {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(help);
    process.exit(0);
  }
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
}
