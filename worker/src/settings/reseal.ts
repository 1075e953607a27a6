/** @module Seals what an older key has sealed, or none: after that the older key may be forgotten. */
import type { Env } from "../env.ts";
import { resealed } from "../sealed.ts";

const TABLES = [
  { table: "settings", id: "tenant", column: "secrets" },
  { table: "dataset_sources", id: "id", column: "sealed_headers" },
  { table: "secrets", id: "id", column: "sealed" },
  { table: "signing_keys", id: "kid", column: "secret" },
] as const;

export async function resealSecrets(env: Env): Promise<void> {
  for (const { table, id, column } of TABLES) {
    const { results } = await env.DB.prepare(`SELECT ${id} AS id, ${column} AS text FROM ${table}`).all<{
      id: string;
      text: string;
    }>();
    for (const row of results) {
      const text = await resealed(env, row.text).catch((error) => {
        console.error(`could not seal ${table} ${row.id} anew`, error);
        return null;
      });
      // Unless it was changed meanwhile.
      if (text)
        await env.DB.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${id} = ? AND ${column} = ?`)
          .bind(text, row.id, row.text)
          .run();
    }
  }
}
