/** @module Settings are environment variables, so most arguments are mistakes that must not be passed over. */

/** Shows the help or the mistake and leaves; otherwise says which of the known flags were given. */
export function flagsOf(help: string, known: readonly string[] = []): Set<string> {
  const given = process.argv.slice(2);
  if (given.includes("--help") || given.includes("-h")) {
    console.log(help);
    process.exit(0);
  }
  const unknown = given.find((word) => !known.includes(word));
  if (unknown !== undefined) {
    console.error(`unknown argument ${JSON.stringify(unknown)}\n\n${help}`);
    process.exit(2);
  }
  return new Set(given);
}
