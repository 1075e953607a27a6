/** @module All commands of `sandbar`. */
import { Command } from "commander";
import { VERSION } from "../version.ts";
import { addArtifacts } from "./artifacts.ts";
import { addCompletion } from "./completion.ts";
import { addCp } from "./cp.ts";
import { addDoctor } from "./doctor.ts";
import { addGlobalOptions } from "./global-options.ts";
import { addMcp } from "./mcp.ts";
import { addOperator } from "./operator.ts";
import { addRepl } from "./repl.ts";
import { addRun } from "./run.ts";
import { addSessions } from "./sessions.ts";
import { addConfig } from "./settings.ts";
import { addTerminal } from "./terminal.ts";
import { addTop } from "./top.ts";
import { addUp } from "./up.ts";
import { addView } from "./view.ts";

export function program(): Command {
  const root = new Command("sandbar")
    .description("Code-execution sandboxes for AI agents, on your own machines")
    .version(VERSION)
    .enablePositionalOptions()
    .showHelpAfterError("(--help shows how)");
  addUp(root);
  addRun(root);
  addRepl(root);
  addSessions(root);
  addTerminal(root);
  addCp(root);
  addArtifacts(root);
  addView(root);
  addOperator(root);
  addTop(root);
  addMcp(root);
  addDoctor(root);
  addConfig(root);
  addCompletion(root);
  addGlobalOptions(root);
  throwInsteadOfExiting(root);
  return root;
}

/** Commander would leave with 1, which is for code that fails. */
function throwInsteadOfExiting(command: Command): void {
  command.exitOverride();
  for (const sub of command.commands) throwInsteadOfExiting(sub);
}
