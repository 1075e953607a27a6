/** @module Tools that run code and shell commands. */
import { type ToolRunnableConfig, tool } from "@langchain/core/tools";
import type { Language } from "@sandbar/shared";
import { z } from "zod";
import type { DescribeOptions } from "../describe.ts";
import { engineNotice } from "../engine-notice.ts";
import type { ExecutionEvent } from "../execution-stream.ts";
import type { Session } from "../session.ts";
import { callKey, streamWriter } from "./call.ts";
import { orFailure } from "./failure.ts";
import { renderExecution } from "./render.ts";
import { type SandboxToolOptions, ToolSessions } from "./tool-sessions.ts";

export interface CodeToolOptions extends SandboxToolOptions, DescribeOptions {
  /** Time limit when the model names none. */
  timeoutS?: number;
  /** The longest limit that the model may ask for. Default 600. */
  maxTimeoutS?: number;
  /** Gets everything that the code's stream says, instead of the graph's `custom` stream. */
  onEvent?: (event: ExecutionEvent, call: { tool_call_id: string | undefined; session_id: string }) => void;
}

export interface CodeSandboxToolOptions extends CodeToolOptions {
  /** Languages that the model may choose from; by default it writes in the session's runtime. */
  languages?: [Language, ...Language[]];
}

const RUNTIMES: Record<Language, string> = {
  python: "Python (IPython; top-level await works)",
  node: "JavaScript (Node.js; top-level await works)",
  r: "R",
  bash: "bash",
};

/** Runs code in a kernel that keeps its variables from call to call. */
export function makeCodeSandboxTool(options: CodeSandboxToolOptions = {}) {
  const sessions = new ToolSessions(options);
  const engine = engineNotice(options.session?.engine);
  const runtime = engine ? "Python" : RUNTIMES[options.session?.runtime ?? "python"];
  const { languages } = options;
  const schema = z.object({
    code: z.string().describe("The code to run. The value of its last expression is shown."),
    timeout_s: timeout(options),
    ...(languages ? { language: z.enum(languages).optional().describe("Language of the code.") } : {}),
  });
  return tool(
    (input, config) =>
      runTool(sessions, options, config, input as RunInput, (session, run) => session.run(input.code, run)),
    {
      name: options.name ?? "code_sandbox",
      description:
        options.description ??
        `Runs ${languages ? languages.map((language) => RUNTIMES[language]).join(", ") : runtime} code in a sandbox. ` +
          "Variables, imports and files stay between calls. Print what you want to see. " +
          `Files saved in /session/artifacts are kept for the user.${engine ? ` ${engine}` : ""}`,
      schema,
      responseFormat: "content_and_artifact",
    },
  );
}

/** Runs shell commands in the same session; the shell keeps its directory and variables. */
export function makeTerminalTool(options: CodeToolOptions = {}) {
  const sessions = new ToolSessions(options);
  return tool(
    (input, config) =>
      runTool(sessions, options, config, input, (session, run) => session.sh(input.command, run)),
    {
      name: options.name ?? "terminal",
      description:
        options.description ??
        "Runs a bash command in the sandbox and answers its output and exit code. " +
          "The working directory and exported variables stay between calls. Commands must not wait for input.",
      schema: z.object({ command: z.string().describe("The command."), timeout_s: timeout(options) }),
      responseFormat: "content_and_artifact",
    },
  );
}

type RunInput = { timeout_s?: number; language?: Language };
type Run = (session: Session, options: Parameters<Session["run"]>[1] & object) => ReturnType<Session["run"]>;

function runTool(
  sessions: ToolSessions,
  options: CodeToolOptions,
  config: ToolRunnableConfig,
  input: RunInput,
  run: Run,
) {
  return orFailure(async () => {
    const write = streamWriter(config);
    const tool_call_id = config.toolCall?.id;
    const live = (type: "stdout" | "stderr") => (text: string) => write({ type, text, tool_call_id });
    const { onEvent } = options;
    const { value, notice } = await sessions.use(config, (session) =>
      run(session, {
        timeoutS: input.timeout_s ?? options.timeoutS,
        ...(input.language ? { language: input.language } : {}),
        signal: config.signal,
        idempotencyKey: callKey(config),
        ...(onEvent
          ? { onEvent: (event) => onEvent(event, { tool_call_id, session_id: session.id }) }
          : {
              onStdout: live("stdout"),
              onStderr: live("stderr"),
              onArtifact: (artifact) => write({ type: "artifact", artifact, tool_call_id }),
            }),
      }),
    );
    return renderExecution(value, notice, options);
  });
}

function timeout({ maxTimeoutS = 600 }: CodeToolOptions) {
  return z
    .number()
    .positive()
    .max(maxTimeoutS)
    .optional()
    .describe("Time limit in seconds; the code is interrupted then, and variables stay.");
}
