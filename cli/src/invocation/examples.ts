/** @module Examples of `--help`, by command: a line stands below its own command and all that it belongs to. */
import type { Command } from "commander";

const LINES = `
sandbar run analysis.py --dependencies 'pandas==2.2,duckdb'
sandbar run main.py --with .                               the folder's other files, so that sibling imports work
sandbar run -s thread-42 -c 'x = 20'                       variables stay for the next one
sandbar run plot.py --save-images                          figures become image-1.png and so on
echo 'print(6 * 7)' | sandbar run -
sandbar sh 'ls -l /session'
cat words.txt | sandbar sh 'sort | uniq -c'
sandbar repl                                               /help says more
sandbar repl -s thread-42 --save-images
sandbar terminal thread-42
sandbar sessions
sandbar sessions list --label project=demo --all
sandbar sessions get thread-42 -o json
sandbar sessions create thread-42 --ttl 2h --volume data:/mnt/data
sandbar sessions stop thread-42
sandbar state thread-42
sandbar contexts list thread-42
sandbar contexts create thread-42 second node
sandbar contexts restart thread-42 main
sandbar contexts remove thread-42 second
sandbar processes list thread-42
sandbar processes start thread-42 'python -m http.server 8000'
sandbar processes logs thread-42 prc_…
sandbar processes kill thread-42 prc_…
sandbar cp data.csv thread-42:                             to /session
sandbar cp thread-42:/session/out ./out
sandbar artifacts list thread-42
sandbar artifacts get art_…
sandbar artifacts save art_… plot.png
sandbar artifacts link art_… --expires 600
sandbar artifacts remove art_…
sandbar snapshots list thread-42
sandbar snapshots create thread-42 --name before-cleanup
sandbar snapshots get snp_…
sandbar snapshots save snp_… kept.tar
sandbar snapshots remove snp_…
sandbar fork thread-42 -n 3
sandbar token thread-42 --verbs run,files --ttl 30m
SANDBAR_API_KEY=$(sandbar token thread-42 --verbs run -q) sandbar mcp
sandbar tokens thread-42
sandbar tokens thread-42 --revoke tok_…
sandbar datasets list thread-42
sandbar datasets select thread-42 sales --file sales.csv
sandbar datasets export thread-42 sales
sandbar volumes
sandbar volumes list
sandbar volumes create data --size 2048
sandbar volumes remove data
sandbar view ses_…
sandbar hosts
sandbar hosts list
sandbar hosts get vps-1
sandbar hosts enroll                                       prints the line to paste on the new machine
sandbar hosts cordon vps-1
sandbar hosts uncordon vps-1
sandbar hosts drain vps-1                                  waits until its sessions are gone
sandbar hosts remove vps-1
sandbar keys list
sandbar keys create agents --tenant acme --scopes agent
sandbar keys remove key_…
sandbar usage --by day
sandbar top -d 5
sandbar events --after 0 -n 20
sandbar audit --action host. -n 20
sandbar console --open
sandbar ports thread-42
sandbar preview thread-42 8000 --open
sandbar whoami
sandbar mcp                                                what an MCP client is told to start
sandbar doctor
sandbar config show
sandbar config set url https://sandbar.example.com
sandbar config get url
sandbar config unset api_key
sandbar secrets list
sandbar secrets delete billing
sandbar network show thread-42
sandbar network set thread-42 --allow files.example.org
sandbar settings show
sandbar settings models
sandbar policy show acme
sandbar policy list
sandbar policy remove acme
eval "$(sandbar completion bash)"
`
  .trim()
  .split("\n");

const MOST = 8;

/** They have written their own. */
const TOLD = new Set(["chat", "secrets", "policy", "network", "settings"]);

export function addExamples(command: Command): void {
  if (command.name().startsWith("__")) return;
  if (!TOLD.has(command.name())) command.addHelpText("after", () => textFor(command));
  for (const sub of command.commands) addExamples(sub);
}

function textFor(command: Command): string {
  const lines = examplesOf(command);
  return lines.length === 0 ? "" : `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

export function examplesOf(command: Command): string[] {
  const words = pathOf(command);
  // Of the program itself, what most people begin with.
  return LINES.filter((line) => new RegExp(`(^|[ (])${words}( |$|\\))`).test(line)).slice(0, MOST);
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
