/** @module What the agent is told about its sandbox before a turn. */
import { engineNotice, type Sandbar, type Session } from "@sandbar/sdk";
import type { CreateSession, Language, ModelSettings } from "@sandbar/shared";

const RUNTIMES: Record<Language, string> = {
  python:
    "Python 3.13 in IPython, with numpy, pandas, pyarrow, matplotlib, seaborn, scipy, scikit-learn, openpyxl and more; " +
    "figures of matplotlib are shown to the user by themselves",
  node: "JavaScript in Node.js; top-level await works",
  r: "R, with tidyverse, data.table, readxl, haven, httr2, DBI, RSQLite, rmarkdown, glmnet, randomForest",
  bash: "bash",
};
const MOST_NAMES = 40;
/** What every sandbox has, and the agent is told about anyway. */
const OWN_FOLDERS = new Set(["/session/.home", "/session/artifacts", "/session/data"]);

export interface SandboxFacts {
  readonly session: Pick<Session, "id" | "info"> | null;
  readonly files: readonly string[];
  readonly datasets: readonly string[];
}

/** What there is now. A sandbox that cannot be asked is described without. */
export async function sandboxFacts(sandbar: Sandbar, key: string): Promise<SandboxFacts> {
  const session = await sandbar.findSession(key).catch(() => null);
  if (!session) return { session, files: [], datasets: [] };
  const files = await session.files
    .list("/session")
    .then((entries) => entries.filter(({ path }) => !OWN_FOLDERS.has(path)).map(fileInWords))
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

const fileInWords = ({ path, type, size }: { path: string; type: string; size: number }) =>
  type === "directory" ? `${path}/` : `${path} (${size} bytes)`;

/** What it is like, or will be: made as the run wants it when code first runs. */
type Likeness = Pick<
  CreateSession,
  "runtime" | "engine" | "image" | "storage" | "network" | "dependencies" | "datasets"
>;

interface Circumstances {
  readonly wished: Likeness;
  /** What earlier turns worked in is gone. */
  readonly lost: boolean;
}

export function systemPrompt(
  { session, files, datasets }: SandboxFacts,
  settings: Pick<ModelSettings, "prompt" | "read_only">,
  { wished, lost }: Circumstances,
): string {
  const info = session?.info;
  const like: Likeness = info ? { ...info, image: info.image ?? undefined } : wished;
  const wasm = engineNotice(like.engine);
  const lines = [
    "You are Sandbar's assistant. You answer questions and work on data by running code in a sandbox of this conversation.",
    "",
    `- ${wasm ?? `The sandbox runs ${RUNTIMES[like.runtime ?? "python"]}.`} Variables, imports and files stay between calls and turns.`,
    ...packagesInWords(like),
    `- ${networkInWords(like.network)}`,
    `- The user's files are in /session. ${like.storage === "BIND" ? "They are kept on the host's disk." : "They live in memory, as long as the sandbox."}`,
    "- What you save in /session/artifacts is kept for the user and shown as a file to download; use good file names.",
    ...(info
      ? [
          `- Code may run ${info.limits.timeout_s} seconds unless you ask for more, with ${info.limits.memory_mb} MB.`,
        ]
      : []),
    ...(lost
      ? [
          "- The sandbox that you worked in before has ended: its variables and files are gone, except what is listed below. Make again what you need, and say so when the user has to give a file again.",
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
    ...listed(`Datasets${where(like.datasets?.access)}`, datasets),
  );
  if (settings.prompt) lines.push("", settings.prompt);
  return lines.join("\n");
}

function packagesInWords({ image, dependencies = {} }: Likeness): string[] {
  const names = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`.trim());
  return [
    // Those of Sandbar have what is said above.
    ...(image && !image.startsWith("sandbar/")
      ? [`- Its image is ${image}: look which packages are there.`]
      : []),
    ...(names.length > 0 ? [`- Installed for it besides: ${names.join(", ")}.`] : []),
  ];
}

const where = (access: string | undefined) =>
  access === "LOCAL_RO" ? ", read-only in /data" : " in /session/data";

function listed(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const more = names.length > MOST_NAMES ? [`… and ${names.length - MOST_NAMES} more`] : [];
  return ["", `${title}:`, ...[...names.slice(0, MOST_NAMES), ...more].map((name) => `- ${name}`)];
}

function networkInWords(network: Likeness["network"]): string {
  if (network === "egress") return "It may reach the internet.";
  if (network === undefined || network === "none" || network.allow.length === 0)
    return "It has no network: nothing can be downloaded or installed from there.";
  return `Of the network it reaches only ${network.allow.join(", ")}, through the proxy that HTTP_PROXY names.`;
}
