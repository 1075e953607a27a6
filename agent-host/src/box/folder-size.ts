/** @module What a folder takes on disk. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** `du` follows no links. */
export async function folderSize(folder: string): Promise<number> {
  const { stdout } = await promisify(execFile)("du", ["-sk", folder]).catch(
    (error) => error as { stdout: string },
  );
  return (Number.parseInt(stdout, 10) || 0) * 1024;
}
