import {
  copyFileSync,
  cpSync,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type Docker from "dockerode";
import { BASE_IMAGE } from "./base-image.ts";
import { caBundleFile } from "./ca-bundle.ts";
import { type EngineMessage, followStream } from "./follow-stream.ts";
import { filesIn } from "./image-tag.ts";
import { startProgress } from "./progress.ts";
import type { Log } from "./run-command.ts";

type Build = { name: string; folders: readonly string[]; ref: string; logFile: string };

/** Builds one image from its folders; the engine's own log goes to a file, a line per step to `log`. */
export async function buildImage(
  docker: Docker,
  { name, folders, ref, logFile }: Build,
  log: Log,
): Promise<void> {
  const progress = startProgress(`Image ${name}`, log);
  const context = buildContext(folders);
  mkdirSync(dirname(logFile), { recursive: true });
  const raw = createWriteStream(logFile);
  const tail: string[] = [];
  const onMessage = (message: EngineMessage) => {
    const text = message.stream ?? (message.error ? `${message.error}\n` : "");
    raw.write(text);
    for (const line of text.split(/[\r\n]+/).filter((line) => line.trim())) {
      // A RUN's whole script says nothing about why it failed.
      if (!/^(Step \d|The command ')/.test(line)) tail.push(line);
      if (tail.length > 15) tail.shift();
      const step = stepTitle(line);
      if (step) progress.step(step);
      else progress.detail(line);
    }
  };
  try {
    const stream = await docker.buildImage(
      { context, src: filesIn(context).map((file) => relative(context, file)) },
      {
        t: ref,
        rm: true,
        forcerm: true,
        buildargs: buildArgs(readFileSync(join(context, "Dockerfile"), "utf8"), process.env),
        labels: { "sandbar.image": name },
        // The host's network, because a proxy may listen on the host's own 127.0.0.1.
        networkmode: "host",
      },
    );
    await followStream(docker, stream, onMessage);
    progress.done();
    // The stages that only fetch packages are as big as the image itself.
    await docker.pruneImages({ filters: { dangling: ["true"], label: ["sandbar.stage"] } }).catch(() => {});
  } catch (error) {
    const output = tail.length > 0 ? tail.join("\n") : (error as Error).message;
    throw new Error(
      `The image ${name} could not be built:\n${output}\n${hintFor(output)} The whole log: ${logFile}`,
    );
  } finally {
    progress.stop();
    raw.end();
    rmSync(context, { recursive: true, force: true });
  }
}

function buildContext(folders: readonly string[]): string {
  const context = mkdtempSync(join(tmpdir(), "sandbar-image-"));
  for (const folder of folders) cpSync(folder, context, { recursive: true });
  const ca = caBundleFile();
  if (ca) copyFileSync(ca, join(context, "build-ca.pem"));
  return context;
}

const PROXIES = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
const INDEXES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "npm_config_registry"];

/** What of the environment a build needs to reach package indexes, as far as its Dockerfile asks for it. */
export function buildArgs(dockerfile: string, env: NodeJS.ProcessEnv): Record<string, string> {
  const asked = new Set(Array.from(dockerfile.matchAll(/^ARG\s+(\w+)/gm), (match) => match[1]!));
  const names = [...PROXIES, ...INDEXES.filter((name) => asked.has(name))];
  const args: Record<string, string> = { BASE: BASE_IMAGE };
  for (const name of names) {
    const value = env[name] ?? (name === "npm_config_registry" ? env.NPM_CONFIG_REGISTRY : undefined);
    if (value) args[name] = value;
  }
  return args;
}

/** "Step 7/18 : RUN apt-get update && …" as "7/18 RUN apt-get update"; nothing for steps that take no time. */
export function stepTitle(line: string): string | undefined {
  const [, position, command] = /^Step (\d+\/\d+) : ((?:RUN|COPY|FROM) .*)$/.exec(line) ?? [];
  if (!position || !command) return undefined;
  return `${position} ${command.replace(/\s+/g, " ").slice(0, 90)}`;
}

function hintFor(output: string): string {
  if (/certificate verify failed|SSLError|SSL certificate|self.signed|local issuer/i.test(output)) {
    return "If your network's proxy signs with its own CA, set SANDBAR_CA_BUNDLE to a PEM file with it.";
  }
  if (/no space left/i.test(output))
    return "The disk is full: `docker system prune` frees what Docker no longer uses.";
  if (
    /could not resolve|name resolution|failed to connect|refused|timed out|unreachable|ENOTFOUND/i.test(
      output,
    )
  ) {
    return "The build needs a Debian mirror and a package index: set https_proxy, PIP_INDEX_URL or npm_config_registry.";
  }
  return "Run the command again; if it fails at the same step, read the log.";
}
