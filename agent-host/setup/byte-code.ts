/** @module Byte code of guest and kernels beside their sources. Without it every container compiles them anew, which costs it 50 ms. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { PassThrough } from "node:stream";
import type Docker from "dockerode";
import { BASE_RECIPE } from "./base-image.ts";
import { filesIn } from "./image-tag.ts";
import type { Log } from "./run-command.ts";

const FOLDERS = ["guest", "kernels/python"];
const COMPILE = ["-I", "-m", "compileall", "-q", "--invalidation-mode", "checked-hash"];
const MARK = "guest/__pycache__/sandbar.digest";

/** All images have the same Python. One of another version, or a source that was changed since, finds nothing that fits and compiles as before. */
export async function ensureByteCode(docker: Docker, image: string, folder: string, log: Log): Promise<void> {
  const mark = join(folder, MARK);
  if (existsSync(mark) && readFileSync(mark, "utf8") === digestOf(folder)) return;
  try {
    await compile(docker, image, folder);
    writeFileSync(mark, digestOf(folder));
  } catch (error) {
    log(`Byte code: sessions start without it (${(error as Error).message.trim()})`);
  }
}

async function compile(docker: Docker, image: string, folder: string): Promise<void> {
  const { uid, gid } = statSync(join(folder, "guest"));
  let said = "";
  const output = new PassThrough().on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-1000);
  });
  const places = FOLDERS.map((name) => `/opt/sandbar/${name}`);
  const [{ StatusCode }, container] = (await docker.run(image, ["python3", ...COMPILE, ...places], output, {
    Entrypoint: [],
    User: `${uid}:${gid}`,
    HostConfig: {
      Binds: FOLDERS.map((name) => `${join(folder, name)}:/opt/sandbar/${name}`),
      NetworkMode: "none",
    },
  })) as [{ StatusCode: number }, Docker.Container];
  await container.remove();
  if (StatusCode !== 0) throw new Error(said || `exit code ${StatusCode}`);
}

function digestOf(folder: string): string {
  const hash = createHash("sha256").update(`base ${BASE_RECIPE}`);
  for (const file of FOLDERS.flatMap((name) => filesIn(join(folder, name))))
    if (file.endsWith(".py"))
      hash
        .update(`\0${relative(folder, file)}\0`)
        .update(createHash("sha256").update(readFileSync(file)).digest());
  return hash.digest("hex");
}

/** With this machine's own Python, in an image that is made on the same base. */
if (import.meta.main) {
  const folder = resolve(import.meta.dirname, "../../images");
  execFileSync("python3", [...COMPILE, ...FOLDERS.map((name) => join(folder, name))], { stdio: "inherit" });
  writeFileSync(join(folder, MARK), digestOf(folder));
}
