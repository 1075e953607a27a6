/** @module Folders of BIND sessions on a machine whose daemon has ended, and all that ran in them. */
import { existsSync } from "node:fs";
import { BindFolders } from "./box/bind-folders.ts";
import type { Config } from "./host/config.ts";
import type { Log } from "./host/log.ts";
import { Journal, journalFile } from "./journal/journal.ts";

/** People find the files where they were, without any daemon. */
export async function settleFoldersLeft(
  config: Pick<Config, "home" | "sessionsRoot" | "bindMb" | "minFreeDiskMb">,
  log: Log,
): Promise<void> {
  if (!existsSync(journalFile(config.home))) return;
  const journal = new Journal(config.home);
  const folders = new BindFolders(config, log);
  try {
    for (const { session } of journal.folders())
      await folders
        .settle(session)
        .catch((error) => log.warn({ err: error, session }, "a session's folder is still in its image"));
  } finally {
    journal.close();
  }
}
