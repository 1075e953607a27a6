/** @module The path of a socket as this process names it best: it may have 107 bytes, wherever the home lies. */
import path from "node:path";

/** From the folder that this process is in, and whatever it starts. */
export function near(file: string): string {
  const relative = path.relative(process.cwd(), file);
  return relative.length < file.length ? relative : file;
}
