/** @module How a snapshot is called, and where its bytes are. */
import type { Snapshot } from "@sandbar/sdk";

/** Nobody must name one; its id's end tells them apart as well. */
export const nameOf = ({ name, id }: Pick<Snapshot, "name" | "id">) => name ?? `unnamed ${id.slice(-6)}`;

export const contentUrl = (id: string) => `/v1/snapshots/${encodeURIComponent(id)}/content`;
