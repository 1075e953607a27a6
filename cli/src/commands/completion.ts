/** @module `sandbar completion`: shell completion of commands, verbs, options, and names of sessions and hosts. */
import { setTimeout as sleep } from "node:timers/promises";
import { Sandbar } from "@sandbar/sdk";
import { Config } from "@sandbar/sdk/node";
import { Argument, type Command, Option } from "commander";

const SCRIPTS: Record<string, string> = {
  bash: `_sandbar() {
  COMPREPLY=($(compgen -W "$(sandbar __complete "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -eq 0 ] && compopt -o default
}
complete -F _sandbar sandbar
`,
  zsh: `#compdef sandbar
_sandbar() {
  local -a offeredbefore candidates
  offeredbefore=("\${words[@]:1:$((CURRENT - 2))}")
  candidates=(\${(f)"$(sandbar __complete "\${offeredbefore[@]}" 2>/dev/null)"})
  compadd -a candidates || _files
}
compdef _sandbar sandbar
`,
  fish: `complete -c sandbar -a '(sandbar __complete (commandline -opc)[2..] 2>/dev/null)'
`,
};

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description('completion script; `eval "$(sandbar completion bash)"`')
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .action((shell: string) => void process.stdout.write(SCRIPTS[shell]!));
  program
    .command("__complete [words...]", { hidden: true })
    .allowUnknownOption()
    .helpOption(false)
    .action((words: string[]) => complete(program, words));
}

export function candidates(program: Command, words: string[]): string[] {
  const { command } = standing(program, words);
  const verbs = command.commands.map((sub) => sub.name()).filter((name) => !name.startsWith("__"));
  const options = command.options.flatMap((option) => (option.long ? [option.long] : []));
  return [...verbs, ...options, "--help"];
}

/** What the word after these names: an option's value, or an argument. Null where it may be anything. */
export function wantedBy(program: Command, words: string[]): Option | Argument | null {
  const { command, rest } = standing(program, words);
  const option = optionOf(command, rest.at(-1));
  if (option && takesValue(option)) return option;
  let position = 0;
  for (const [at, word] of rest.entries()) {
    const before = optionOf(command, rest[at - 1]);
    if (!word.startsWith("-") && !(before && takesValue(before))) position++;
  }
  const known = command.registeredArguments;
  return known[position] ?? (known.at(-1)?.variadic ? known.at(-1)! : null);
}

function standing(program: Command, words: readonly string[]): { command: Command; rest: string[] } {
  let command = program;
  let rest = [...words];
  for (const [at, word] of words.entries()) {
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (!next) continue;
    command = next;
    rest = words.slice(at + 1);
  }
  return { command, rest };
}

const optionOf = (command: Command, word: string | undefined) =>
  word?.startsWith("-")
    ? command.options.find(({ long, short }) => long === word || short === word)
    : undefined;
const takesValue = (option: Option) => option.required || option.optional;

/** Of sessions and hosts, where the next word names one. What cannot be asked quickly is not completed. */
async function names(wanted: Option | Argument | null): Promise<string[]> {
  if (!wanted) return [];
  const choices = wanted.argChoices ?? [];
  if (choices.length > 0) return [...choices];
  const what = wanted.name();
  if (!["session", "session-or-folder", "host", "volume"].includes(what)) return [];
  const { url, apiKey } = Config.fromEnv();
  const client = new Sandbar({ url, apiKey });
  if (what === "host") return (await client.hosts.list().all()).flatMap(({ id, name }) => [name, id]);
  if (what === "volume") return (await client.volumes.list().all()).map(({ name }) => name);
  const live = (await client.sessions().all()).filter(({ status }) => LIVE.has(status));
  return live.flatMap(({ id, key }) => (key ? [key, id] : [id]));
}

const LIVE = new Set(["creating", "ready", "busy"]);
const PATIENCE_MS = 2_000;

async function complete(program: Command, words: string[]): Promise<void> {
  const wanted = wantedBy(program, words);
  const asked = names(wanted).catch(() => []);
  const found = await Promise.race([asked, sleep(PATIENCE_MS, [], { ref: false })]);
  // After an option that wants a value nothing else may stand.
  const offered = wanted instanceof Option ? found : [...found, ...candidates(program, words)];
  process.stdout.write(`${offered.join("\n")}\n`, () => process.exit());
}
