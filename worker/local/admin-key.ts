/** @module The first admin key of a one-machine deployment: made once, its digest in D1, itself in a file of mode 600. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newId } from "@sandbar/shared";

interface Database {
  prepare(sql: string): {
    bind(...values: unknown[]): { run(): Promise<unknown>; first<T>(): Promise<T | null> };
  };
}

export async function ensureAdminKey(db: Database, home: string): Promise<string> {
  const file = join(home, "api-key");
  if (existsSync(file)) {
    const secret = readFileSync(file, "utf8").trim();
    const known = await db.prepare("SELECT id FROM api_keys WHERE digest = ?").bind(digestOf(secret)).first();
    if (known) return file;
  }
  const secret = `sbk_${randomBytes(32).toString("base64url")}`;
  await db
    .prepare("INSERT INTO api_keys (id, name, tenant, scopes, digest, created_at) VALUES (?, ?, ?, ?, ?, ?)")
    .bind(
      newId("key"),
      "first admin key",
      "default",
      JSON.stringify(["admin"]),
      digestOf(secret),
      new Date().toISOString(),
    )
    .run();
  writeFileSync(file, `${secret}\n`, { mode: 0o600 });
  return file;
}

function digestOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
