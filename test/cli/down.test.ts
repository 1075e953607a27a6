import { randomBytes } from "node:crypto";
import { imageRef } from "@sandbar/agent-host/setup/images.ts";
import { removeOldImages } from "@sandbar/agent-host/setup/old-images.ts";
import Docker from "dockerode";
import { afterAll, beforeAll, expect, it } from "vitest";

const docker = new Docker();
// Repositories of its own: other checkouts on this machine have recipes, and images, of theirs.
const name = `sandbar-test-${randomBytes(6).toString("hex")}`;
const [current, old, inUse] = ["aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc"];
let container: Docker.Container;

beforeAll(async () => {
  // Images of its own: what other tests run in must not count as a use of these.
  const made = await docker.createContainer({ Image: imageRef("python"), Cmd: ["true"] });
  for (const tag of [current, old, inUse]) await made.commit({ repo: `${name}/python`, tag });
  await made.remove();
  await docker.getImage(`${name}/python:${current}`).tag({ repo: `${name}/python`, tag: "latest" });
  await docker.getImage(`${name}/python:${old}`).tag({ repo: `${name}/other`, tag: old });
  container = await docker.createContainer({ Image: `${name}/python:${inUse}`, Cmd: ["true"] });
});
afterAll(async () => {
  await container?.remove();
  for (const ref of await tags()) await docker.getImage(ref).remove();
});

async function tags(): Promise<string[]> {
  const images = await docker.listImages();
  return images.flatMap(({ RepoTags }) => RepoTags ?? []).filter((ref) => ref.startsWith(`${name}/`));
}

it("a purge removes images of earlier recipes that no container uses, and nothing else", async () => {
  expect(await removeOldImages(docker, [`${name}/python:${current}`])).toEqual([`${name}/python:${old}`]);
  expect((await tags()).sort()).toEqual([
    `${name}/other:${old}`,
    `${name}/python:${current}`,
    `${name}/python:${inUse}`,
    `${name}/python:latest`,
  ]);
});
