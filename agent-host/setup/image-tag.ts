import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type Docker from "dockerode";

/** Names an image after what it is made of, so that a changed recipe is a new image and an unchanged one is none. */
export function imageTag(name: string, folders: readonly string[], baseRecipe: number): string {
  const hash = createHash("sha256").update(`base ${baseRecipe}\0`);
  for (const folder of folders)
    for (const file of filesIn(folder)) {
      const content = readFileSync(file);
      hash.update(`${relative(folder, file)}\0${content.length}\0`).update(content);
    }
  return `sandbar/${name}:${hash.digest("hex").slice(0, 12)}`;
}

export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
    .sort();
}

export async function imageExists(docker: Docker, ref: string): Promise<boolean> {
  try {
    await docker.getImage(ref).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}
