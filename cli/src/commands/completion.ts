/** @module `sandbar completion`: shell completion of commands, verbs and options. */
import { Argument, type Command } from "commander";

const SCRIPTS: Record<string, string> = {
  bash: `_sandbar() {
  COMPREPLY=($(compgen -W "$(sandbar __complete "\${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ \${#COMPREPLY[@]} -eq 0 ] && compopt -o default
}
complete -F _sandbar sandbar
`,
  zsh: `#compdef sandbar
_sandbar() {
  local -a words_before candidates
  words_before=("\${words[@]:1:$((CURRENT - 2))}")
  candidates=(\${(f)"$(sandbar __complete "\${words_before[@]}" 2>/dev/null)"})
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
    .action((words: string[]) => void process.stdout.write(`${candidates(program, words).join("\n")}\n`));
}

export function candidates(program: Command, words: string[]): string[] {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));
    if (next) command = next;
  }
  const verbs = command.commands.map((sub) => sub.name()).filter((name) => !name.startsWith("__"));
  const options = command.options.flatMap((option) => (option.long ? [option.long] : []));
  return [...verbs, ...options, "--help"];
}
