/** @module The browser that the console's tests drive. */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { aptInstall, hasApt } from "@sandbar/agent-host/setup/apt-install.ts";
import { withFileLock } from "@sandbar/agent-host/setup/file-lock.mjs";
import { type Log, rootPrefix } from "@sandbar/agent-host/setup/run-command.ts";

export const CHROMIUM = process.env.SANDBAR_CHROMIUM ?? "/usr/bin/chromium";

/** Returns when there is one; installs Debian's where that can be done without asking. */
export async function ensureChromium({ log }: { log: Log }): Promise<void> {
  if (existsSync(CHROMIUM)) return;
  const prefix = (await hasApt()) ? await rootPrefix() : undefined;
  if (process.env.SANDBAR_CHROMIUM || !prefix)
    throw new Error(
      `The console's tests drive a browser, and ${CHROMIUM} is not there. Install it with \`sudo apt-get install ` +
        "chromium`, or name another one in SANDBAR_CHROMIUM.",
    );
  await withFileLock(
    join(tmpdir(), `sandbar-chromium-${process.getuid?.()}.lock`),
    async () => {
      if (!existsSync(CHROMIUM)) await aptInstall(["chromium"], prefix, log);
    },
    () => log("chromium: another run is installing it, waiting"),
  );
}
