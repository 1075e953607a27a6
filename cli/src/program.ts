/** @module All commands of `sandbar`. */

import { VERSION } from "@sandbar/shared";
import { Command } from "commander";
import { addArtifacts } from "./commands/artifacts.ts";
import { addAudit } from "./commands/audit.ts";
import { addChat } from "./commands/chat.ts";
import { addCompletion } from "./commands/completion.ts";
import { addConfig } from "./commands/config.ts";
import { addConsole } from "./commands/console.ts";
import { addCp } from "./commands/cp.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEvents } from "./commands/events.ts";
import { addMcp } from "./commands/mcp.ts";
import { addNetwork } from "./commands/network.ts";
import { addOperator } from "./commands/operator.ts";
import { addPolicy } from "./commands/policy.ts";
import { addRepl } from "./commands/repl.ts";
import { addRun } from "./commands/run.ts";
import { addSecrets } from "./commands/secrets.ts";
import { addSessions } from "./commands/sessions.ts";
import { addSettings } from "./commands/settings.ts";
import { addSnapshots } from "./commands/snapshots.ts";
import { addTerminal } from "./commands/terminal.ts";
import { addTokens } from "./commands/tokens.ts";
import { addTop } from "./commands/top.ts";
import { addUp } from "./commands/up.ts";
import { addView } from "./commands/view.ts";
import { addVolumes } from "./commands/volumes.ts";
import { addExamples } from "./invocation/examples.ts";
import { addGlobalOptions } from "./invocation/global-options.ts";

export function program(): Command {
  const root = new Command("sandbar")
    .description("Code-execution sandboxes for AI agents, on your own machines")
    .version(VERSION)
    .enablePositionalOptions()
    .showHelpAfterError("(--help shows how)");
  addUp(root);
  addRun(root);
  addRepl(root);
  addChat(root);
  addSessions(root);
  addTerminal(root);
  addTokens(root);
  addCp(root);
  addArtifacts(root);
  addSnapshots(root);
  addVolumes(root);
  addView(root);
  addOperator(root);
  addTop(root);
  addEvents(root);
  addAudit(root);
  addNetwork(root);
  addSecrets(root);
  addPolicy(root);
  addConsole(root);
  addMcp(root);
  addDoctor(root);
  addConfig(root);
  addSettings(root);
  addCompletion(root);
  addGlobalOptions(root);
  addExamples(root);
  throwInsteadOfExiting(root);
  return root;
}

/** Commander would leave with 1, which is for code that fails. */
function throwInsteadOfExiting(command: Command): void {
  command.exitOverride();
  for (const sub of command.commands) throwInsteadOfExiting(sub);
}
