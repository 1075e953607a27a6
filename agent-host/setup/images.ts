import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import Docker from "dockerode";
import { BASE_RECIPE, ensureBaseImage } from "./base-image.ts";
import { ensureByteCode } from "./byte-code.ts";
import { withFileLock } from "./file-lock.mjs";
import { buildImage } from "./image-build.ts";
import { imageExists, imageTag } from "./image-tag.ts";
import type { Log } from "./run-command.ts";

export const IMAGE_NAMES = ["python", "node", "r"] as const;
export type ImageName = (typeof IMAGE_NAMES)[number];

const repo = resolve(import.meta.dirname, "../..");

type Options = { names: readonly ImageName[]; log: Log; docker?: Docker };

/** Makes sure of the images, in the given order, and says which tag each has. */
export async function ensureImages<N extends ImageName>(
  options: Options & { names: readonly N[] },
): Promise<Record<N, string>> {
  const { names, log, docker = new Docker() } = options;
  const refs = Object.fromEntries(names.map((name) => [name, imageRef(name)])) as Record<N, string>;
  for (const name of names) {
    if (await imageExists(docker, refs[name])) continue;
    await withFileLock(
      join(tmpdir(), `sandbar-images-${process.getuid?.()}.lock`),
      async () => {
        if (await imageExists(docker, refs[name])) return;
        await ensureBaseImage(docker, log);
        const logFile = join(process.env.SANDBAR_HOME ?? join(repo, ".sandbar"), "logs", `image-${name}.log`);
        await buildImage(docker, { name, folders: imageFolders(name), ref: refs[name], logFile }, log);
        await docker.getImage(refs[name]).tag({ repo: `sandbar/${name}`, tag: "latest" });
      },
      () => log(`Image ${name}: another build is running, waiting`),
    );
  }
  const [first] = names;
  if (first) await ensureByteCode(docker, refs[first], join(repo, "images"), log);
  return refs;
}

export function imageRef(name: ImageName): string {
  return imageTag(name, imageFolders(name), BASE_RECIPE);
}

/** Its own, and what all images share; together they are what the engine gets to build from. */
const imageFolders = (name: ImageName) => [name, "common"].map((folder) => join(repo, "images", folder));

if (import.meta.main) {
  const names = process.argv.slice(2) as ImageName[];
  const unknown = names.filter((name) => !IMAGE_NAMES.includes(name));
  if (names.length === 0 || unknown.length > 0) {
    console.error(`Usage: node agent-host/setup/images.ts ${IMAGE_NAMES.join("|")} …`);
    process.exit(2);
  }
  console.log(await ensureImages({ names, log: (line) => console.error(line) }));
}
