import { startProgress } from "./progress.ts";
import { asRoot, type Log, runCommand, succeeds } from "./run-command.ts";

export async function hasApt(): Promise<boolean> {
  return succeeds(["apt-get", "--version"]);
}

export async function aptInstall(packages: string[], prefix: string[], log: Log): Promise<void> {
  const progress = startProgress(`apt-get install ${packages.join(" ")}`, log);
  const apt = (...args: string[]) =>
    runCommand(
      asRoot(prefix, [
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        // A fresh cloud machine runs its own upgrade in the first minutes and holds this lock.
        "-oDPkg::Lock::Timeout=180",
        ...args,
      ]),
      { onLine: progress.detail },
    );
  try {
    await apt("update");
    await apt("install", "-y", "--no-install-recommends", ...packages);
    progress.done();
  } finally {
    progress.stop();
  }
}
