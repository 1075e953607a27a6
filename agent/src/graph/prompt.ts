/** @module What the agent is told about its sandbox before a turn. */
import type { Sandbar, Session } from "@sandbar/sdk";
import type { Language, ModelSettings } from "@sandbar/shared";

const RUNTIMES: Record<Language, string> = {
  python:
    "Python 3.13 in IPython, with numpy, pandas, pyarrow, matplotlib, seaborn, scipy, scikit-learn, openpyxl and more; " +
    "figures of matplotlib are shown to the user by themselves",
  node: "JavaScript in Node.js; top-level await works",
  r: "R, with tidyverse, data.table, readxl, haven, httr2, DBI, RSQLite, rmarkdown, glmnet, randomForest",
  bash: "bash",
};
const MOST_NAMES = 40;

export interface SandboxFacts {
  readonly session: Session | null;
  readonly files: readonly string[];
  readonly datasets: readonly string[];
}

/** What there is now. A sandbox that cannot be asked is described without. */
export async function sandboxFacts(sandbar: Sandbar, key: string): Promise<SandboxFacts> {
  const session = await sandbar.findSession(key).catch(() => null);
  if (!session) return { session, files: [], datasets: [] };
  const files = await session.files
    .list("/session")
    .then((entries) => entries.map(({ path, size }) => `${path} (${size} bytes)`))
    .catch(() => []);
  const datasets =
    session.info.datasets.access === "NONE"
      ? []
      : await session.datasets
          .list()
          .then(({ data }) => data.map(({ id, path, status }) => `${id}: ${path ?? status}`))
          .catch(() => []);
  return { session, files, datasets };
}

export function systemPrompt(
  { session, files, datasets }: SandboxFacts,
  settings: Pick<ModelSettings, "prompt" | "read_only">,
  runtime: Language,
): string {
  const info = session?.info;
  const lines = [
    "You are Sandbar's assistant. You answer questions and work on data by running code in a sandbox of this conversation.",
    "",
    `- The sandbox runs ${RUNTIMES[info?.runtime ?? runtime]}. Variables, imports and files stay between calls and turns.`,
    `- ${info?.network === "egress" ? "It may reach the internet." : "It has no network: nothing can be downloaded or installed from there."}`,
    `- The user's files are in /session. ${info?.storage === "BIND" ? "They are kept on the host's disk." : "They live in memory, as long as the sandbox."}`,
    "- What you save in /session/artifacts is kept for the user and shown as a file to download; use good file names.",
    ...(info
      ? [
          `- Code may run ${info.limits.timeout_s} seconds unless you ask for more, with ${info.limits.memory_mb} MB.`,
        ]
      : []),
    "- Look at the data before you conclude, and check results that surprise you. If code fails, read the error and mend it.",
    "- Answer in the user's language, briefly, with what you found. Do not repeat output that the user has seen.",
  ];
  if (settings.read_only)
    lines.push(
      "- You may only look: you can list and read files, and run no code. Say so when more is needed.",
    );
  lines.push(
    ...listed("Files in /session now", files),
    ...listed(`Datasets${where(info?.datasets.access)}`, datasets),
  );
  if (settings.prompt) lines.push("", settings.prompt);
  return lines.join("\n");
}

const where = (access: string | undefined) =>
  access === "LOCAL_RO" ? ", read-only in /data" : " in /session/data";

function listed(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > MOST_NAMES ? [`… and ${names.length - MOST_NAMES} more`] : [];
  return ["", `${title}:`, ...[...names.slice(0, MOST_NAMES), ...more].map((name) => `- ${name}`)];
}
