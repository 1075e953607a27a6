/**
 * The guest's program without its types, made once: a process of Node that has to take them out itself needs three times the
 * CPU time to start, and keeps 26 MB for it.
 *
 * @module
 */
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";

const IMPORT = /(\b(?:from|import)\s*")(\.[^"]*)\.ts"/g;

/** Writes what `entry`, a path below `root`, is made of below `folder`, readable by all, and returns where the entry is. */
export async function plainProgram(root: string, entry: string, folder: string): Promise<string> {
  const made = path.join(folder, plain(entry));
  if (await stat(made).catch(() => null)) return made;
  const part = `${folder}.part`;
  await rm(part, { recursive: true, force: true });
  const waiting = [path.join(root, entry)];
  const seen = new Set(waiting);
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    const from = path.dirname(file);
    const text = stripTypeScriptTypes(await readFile(file, "utf8"));
    const code = text.replace(IMPORT, (_, before: string, target: string) => {
      const next = path.join(from, `${target}.ts`);
      if (!seen.has(next)) waiting.push(next);
      seen.add(next);
      return `${before}${target}.js"`;
    });
    await write(path.join(part, plain(path.relative(root, file))), code);
  }
  await write(path.join(part, "package.json"), '{ "type": "module" }\n');
  await rm(folder, { recursive: true, force: true });
  await rename(part, folder);
  return made;
}

const plain = (file: string) => file.replace(/\.ts$/, ".js");

/** Sessions have users of their own. */
async function write(file: string, text: string): Promise<void> {
  const folder = path.dirname(file);
  const first = await mkdir(folder, { recursive: true });
  for (let made = folder; first && made.startsWith(first); made = path.dirname(made))
    await chmod(made, 0o755);
  await writeFile(file, text);
  await chmod(file, 0o644);
}
