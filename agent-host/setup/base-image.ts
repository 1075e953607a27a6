import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import type Docker from "dockerode";
import { aptInstall, hasApt } from "./apt-install.ts";
import { aptUris, hostMirror, sourcesList, withSecurity } from "./debian-mirror.ts";
import { followStream } from "./follow-stream.ts";
import { imageExists } from "./image-tag.ts";
import { type Progress, startProgress } from "./progress.ts";
import { asRoot, type Log, rootPrefix, runCommand } from "./run-command.ts";

const SUITE = "trixie";
const PUBLISHED = `debian:${SUITE}-slim`;
const STALLED_MS = 15_000;

/** Part of every image's tag: raise it when this file makes a different base. */
export const BASE_RECIPE = 1;
export const BASE_IMAGE = `sandbar/base:${SUITE}`;
const VERSIONED = `${BASE_IMAGE}-${BASE_RECIPE}`;

/** Debian trixie, minimal: the published image if it can be pulled, else the same made here from Debian packages. */
export async function ensureBaseImage(docker: Docker, log: Log): Promise<void> {
  if ((await imageExists(docker, VERSIONED)) && (await imageExists(docker, BASE_IMAGE))) return;
  const progress = startProgress("Base image", log);
  try {
    if ((await pull(docker, progress)) || (await imageExists(docker, PUBLISHED))) {
      await adopt(docker);
    } else {
      await bootstrap(docker, progress, log);
    }
    await docker.getImage(BASE_IMAGE).tag({ repo: "sandbar/base", tag: `${SUITE}-${BASE_RECIPE}` });
    progress.done();
  } finally {
    progress.stop();
  }
}

async function pull(docker: Docker, progress: Progress): Promise<boolean> {
  progress.step(`pull ${PUBLISHED}`);
  const abort = new AbortController();
  const stalled = setTimeout(
    () => abort.abort(new Error(`nothing came for ${STALLED_MS / 1000} s`)),
    STALLED_MS,
  );
  try {
    const stream = await docker.pull(PUBLISHED, { abortSignal: abort.signal });
    await Promise.race([
      followStream(docker, stream, () => stalled.refresh()),
      new Promise<never>((_, reject) =>
        abort.signal.addEventListener("abort", () => reject(abort.signal.reason)),
      ),
    ]);
    return true;
  } catch (error) {
    progress.step(`no ${PUBLISHED} to pull (${(error as Error).message.trim().slice(0, 120)})`);
    return false;
  } finally {
    clearTimeout(stalled);
  }
}

/** Takes the published image as the base, with the package mirror that this machine uses. */
async function adopt(docker: Docker): Promise<void> {
  const mirror = await hostMirror(SUITE);
  // The slim image has no certificates yet, so apt in it cannot use https.
  if (!mirror || !Object.values(mirror).every((uri) => uri?.startsWith("http:"))) {
    await docker.getImage(PUBLISHED).tag({ repo: "sandbar/base", tag: SUITE });
    return;
  }
  const container = await docker.createContainer({
    Image: PUBLISHED,
    NetworkDisabled: true,
    Cmd: [
      "sh",
      "-c",
      'rm -f /etc/apt/sources.list.d/*; printf %s "$0" > /etc/apt/sources.list',
      sourcesList(SUITE, mirror),
    ],
  });
  try {
    await container.start();
    const { StatusCode } = await container.wait();
    if (StatusCode !== 0)
      throw new Error(`${PUBLISHED}: setting the package mirror ended with status ${StatusCode}.`);
    await container.commit({ repo: "sandbar/base", tag: SUITE, changes: 'CMD ["bash"]' });
  } finally {
    await container.remove({ force: true });
  }
}

async function bootstrap(docker: Docker, progress: Progress, log: Log): Promise<void> {
  const prefix = await rootPrefix();
  if (process.platform !== "linux" || !prefix || !(await hasApt())) {
    throw new Error(
      `${PUBLISHED} could not be pulled, and making it here needs root on Debian or Ubuntu. Give Docker Engine access ` +
        `to a registry (or run \`docker load\` with an archive of ${PUBLISHED}), then run this command again.`,
    );
  }
  if (!existsSync("/usr/sbin/debootstrap")) {
    await aptInstall(["debootstrap", "debian-archive-keyring"], prefix, log);
  }
  const mirror = await hostMirror(SUITE);
  const root = `/var/tmp/sandbar-base-${process.getuid?.()}`;
  // --one-file-system: an interrupted debootstrap can leave /proc mounted in there.
  const remove = () => runCommand(asRoot(prefix, ["rm", "-rf", "--one-file-system", root]));
  await remove();
  try {
    progress.step(`debootstrap ${SUITE}`);
    await runCommand(
      asRoot(prefix, [
        "debootstrap",
        "--variant=minbase",
        ...(mirror?.main.startsWith("https:") ? ["--include=ca-certificates"] : []),
        SUITE,
        root,
        ...(mirror ? [mirror.main] : []),
      ]),
      { onLine: (line) => progress.detail(line.replace(/^I: /, "")) },
    );
    const sources = `${root}/etc/apt/sources.list`;
    const used = mirror ?? (await withSecurity(aptUris(readFileSync(sources, "utf8"))[0]!, SUITE));
    await write(prefix, sources, sourcesList(SUITE, used));
    await write(prefix, `${root}/etc/dpkg/dpkg.cfg.d/sandbar-slim`, SLIM);
    progress.step("import");
    await importFolder(docker, prefix, root);
  } finally {
    await remove();
  }
}

// What debian:*-slim leaves out as well. Licences stay.
const SLIM = `path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
`;

const LEAVE_OUT = [
  "./dev/*",
  "./proc/*",
  "./sys/*",
  "./usr/share/info/*",
  "./usr/share/locale/*",
  "./usr/share/man/*",
  "./var/cache/apt/*.bin",
  "./var/cache/apt/archives/*.deb",
  "./var/lib/apt/lists/*",
  "./var/log/*",
];

async function write(prefix: string[], file: string, content: string): Promise<void> {
  await runCommand(asRoot(prefix, ["sh", "-c", 'printf %s "$1" > "$0"', file, content]));
}

async function importFolder(docker: Docker, prefix: string[], root: string): Promise<void> {
  const [file, ...args] = asRoot(prefix, [
    "tar",
    "-C",
    root,
    ...LEAVE_OUT.map((path) => `--exclude=${path}`),
    "-c",
    ".",
  ]);
  const tar = spawn(file, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => tar.once("close", resolve));
  const answer = await docker.importImage(tar.stdout, { repo: "sandbar/base", tag: SUITE });
  const output = await text(answer);
  const code = await ended;
  if (code !== 0 || /"error"/.test(output))
    throw new Error(`The import of ${root} failed: tar ${code}, ${output.trim()}`);
}
