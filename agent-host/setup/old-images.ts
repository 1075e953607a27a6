/** @module Images of earlier recipes: each changed recipe leaves one behind, a gigabyte for Python. */
import type Docker from "dockerode";

const RECIPE_TAG = /^[0-9a-f]{12}$/;

/** Removes tags of the same repositories that are of other recipes than `current` and that no container uses. */
export async function removeOldImages(docker: Docker, current: readonly string[]): Promise<string[]> {
  const repositories = new Set(current.map((ref) => split(ref).repository));
  const used = new Set((await docker.listContainers({ all: true })).map(({ ImageID }) => ImageID));
  const removed: string[] = [];
  for (const { Id, RepoTags } of await docker.listImages()) {
    for (const ref of RepoTags ?? []) {
      const { repository, tag } = split(ref);
      if (!repositories.has(repository) || !RECIPE_TAG.test(tag)) continue;
      if (current.includes(ref) || used.has(Id)) continue;
      if (await remove(docker, ref)) removed.push(ref);
    }
  }
  return removed.sort();
}

function split(ref: string): { repository: string; tag: string } {
  const at = ref.lastIndexOf(":");
  return { repository: ref.slice(0, at), tag: ref.slice(at + 1) };
}

/** False when a container began to use it, or somebody else removed it, in the meantime. */
async function remove(docker: Docker, ref: string): Promise<boolean> {
  try {
    await docker.getImage(ref).remove();
    return true;
  } catch (error) {
    if ([404, 409].includes((error as { statusCode?: number }).statusCode ?? 0)) return false;
    throw error;
  }
}
