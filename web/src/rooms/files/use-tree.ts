import type { FileEntry, Session } from "@sandbar/sdk";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { isHopeless } from "../../api/hopeless.ts";
import { keys } from "../../api/keys.ts";
import { useVisible } from "../../ui/use-visible.ts";
import { parentOf, resolved } from "./paths.ts";
import { Refresher } from "./refresher.ts";
import { type Listing, sorted, type TreeRow, treeRows } from "./tree.ts";

const AGAIN_MS = 3000;
export const WATCHED = "/session";

/** The folders that a session shows: its own, and the host's datasets where it has them. */
export function rootsOf(session: Session): FileEntry[] {
  const root = (path: string) =>
    ({ path, name: path, type: "directory", size: 0, mode: 0o755, mtime: "", etag: "" }) satisfies FileEntry;
  return session.info.datasets.access === "LOCAL_RO" ? [root(WATCHED), root("/data")] : [root(WATCHED)];
}

export interface Tree {
  rows: TreeRow[];
  listings: ReadonlyMap<string, Listing>;
  errors: ReadonlyMap<string, unknown>;
  refresh: (folder: string) => void;
  /** False while changes are not told, so that what is shown may be old. */
  live: boolean;
}

/** What is in the open folders, kept true by the session's own watch. */
export function useTree(session: Session, open: ReadonlySet<string>): Tree {
  const client = useQueryClient();
  const roots = useMemo(() => rootsOf(session), [session]);
  const folders = [...open];
  const results = useQueries({
    queries: folders.map((path) => ({
      queryKey: keys.files(session.id, path),
      queryFn: async () => sorted(await session.files.list(path)),
      staleTime: 5000,
    })),
  });
  const stamp = results.map(({ dataUpdatedAt, status }) => `${dataUpdatedAt}${status}`).join();
  const { listings, errors } = useMemo(() => {
    const listings = new Map<string, Listing>();
    const errors = new Map<string, unknown>();
    for (const [index, folder] of folders.entries()) {
      const { data, error } = results[index]!;
      listings.set(folder, data ? { entries: data } : error ? "failed" : "loading");
      if (error) errors.set(folder, error);
    }
    return { listings, errors };
  }, [stamp, folders.join("\n")]);
  const rows = useMemo(() => treeRows(roots, listings, open), [roots, listings, open]);

  const refresher = useRef<Refresher>(null);
  refresher.current ??= new Refresher((path) =>
    client.refetchQueries({ queryKey: keys.files(session.id, path), exact: true }),
  );
  const refresh = (folder: string) => refresher.current!.changed(folder);
  const live = useWatch(session, refresh, () => {
    for (const folder of client.getQueryCache().findAll({ queryKey: ["session", session.id, "files"] }))
      refresh(String(folder.queryKey.at(3)));
  });
  return { rows, listings, errors, refresh, live };
}

/** Follows changes while the page is looked at. */
function useWatch(session: Session, changed: (folder: string) => void, all: () => void): boolean {
  const [live, setLive] = useState(false);
  const visible = useVisible();
  const tell = useRef({ changed, all });
  tell.current = { changed, all };
  useEffect(() => {
    if (!visible) return;
    const controller = new AbortController();
    const { signal } = controller;
    const follow = async () => {
      while (!signal.aborted) {
        try {
          const onReady = () => {
            setLive(true);
            // What changed before the watch stood is only in the lists.
            tell.current.all();
          };
          for await (const { type, path } of session.files.watch(WATCHED, { signal, onReady }))
            if (type === "overflow") tell.current.all();
            else tell.current.changed(parentOf(resolved(WATCHED, path)));
        } catch (error) {
          if (isHopeless(error)) break;
        }
        setLive(false);
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    };
    void follow().finally(() => setLive(false));
    return () => controller.abort();
  }, [session.id, visible]);
  return live;
}
