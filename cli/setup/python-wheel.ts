/** @module The Python client as a wheel. Its build backend comes from the package index, into an environment of its own. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

export function buildWheel(source: string, out: string, work: string): void {
  const venv = join(work, "venv");
  try {
    execFileSync("python3", ["-m", "venv", venv], { stdio: "pipe", encoding: "utf8" });
  } catch (error) {
    throw new Error("the wheel needs Python with venv (on Debian and Ubuntu: apt install python3-venv)", {
      cause: error,
    });
  }
  const pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"];
  execFileSync(join(venv, "bin/python"), [...pip, "wheel", "--no-deps", "--wheel-dir", out, source], {
    stdio: ["ignore", "inherit", "inherit"],
  });
}
