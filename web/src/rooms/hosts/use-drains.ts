import type { Host } from "@sandbar/sdk";
import { useEffect, useState } from "react";

export interface Drain {
  /** Sessions that were there when it began. */
  from: number;
  left: number;
}

/** How far the drains are that began on this page: the API tells how many sessions are left. */
export function useDrains(hosts: readonly Host[]): {
  began: (host: Host) => void;
  of: (host: Host) => Drain | null;
} {
  const [began, setBegan] = useState<ReadonlyMap<string, number>>(new Map());
  // Whoever lets sessions come again has ended it.
  useEffect(() => {
    const over = hosts.filter(({ id, cordoned }) => began.has(id) && !cordoned);
    if (over.length === 0) return;
    setBegan((before) => new Map([...before].filter(([id]) => !over.some((host) => host.id === id))));
  }, [hosts, began]);
  return {
    began: ({ id, sessions }) => setBegan((before) => new Map(before).set(id, sessions)),
    of: ({ id, sessions }) => {
      const from = began.get(id);
      return from === undefined ? null : { from: Math.max(from, sessions), left: sessions };
    },
  };
}
