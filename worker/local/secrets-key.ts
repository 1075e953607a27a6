/**
 * The key that seals secrets in D1: made once, in a file of mode 600. To replace it, put a new line before the old one
 * and start again; once the schedule has sealed everything anew (docs/configuration.md), the old line may go.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A key that the operator gives comes before the file's, so that what the file's has sealed stays readable. */
export function ensureSecretsKey(home: string, given: string | undefined): string {
  const file = join(home, "secrets-key");
  if (!existsSync(file)) writeFileSync(file, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600 });
  return [given, readFileSync(file, "utf8").trim()].filter(Boolean).join("\n");
}
