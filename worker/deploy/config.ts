/** @module The configuration of one deployment, made from the committed wrangler.toml. */

const PLACEHOLDER_ID = "00000000-0000-0000-0000-000000000000";

export interface Names {
  readonly database: string;
  readonly bucket: string;
}

export function namesIn(toml: string): Names {
  return { database: settingIn(toml, "database_name"), bucket: settingIn(toml, "bucket_name") };
}

/**
 * The same configuration with the account's own database, as it must read from a folder below the repository:
 * wrangler takes paths relative to the file, which was in `folder`.
 */
export function deploymentConfig(toml: string, databaseId: string, folder = ""): string {
  if (!toml.includes(PLACEHOLDER_ID))
    throw new Error(`wrangler.toml lacks the placeholder ${PLACEHOLDER_ID}`);
  return ["main", "directory", "migrations_dir"].reduce(
    (text, name) => text.replace(line(name), (_, before, path) => `${before}"../${folder}${path}"`),
    toml.replace(PLACEHOLDER_ID, databaseId),
  );
}

/** Without its bindings to other Workers: two that are bound to each other cannot both be the first. */
export function withoutServices(toml: string): string {
  return toml.replace(/^\[\[services\]\]\n(?:[^[\n].*\n)*/gm, "");
}

function settingIn(toml: string, name: string): string {
  const value = line(name).exec(toml)?.[2];
  if (!value) throw new Error(`wrangler.toml lacks ${name}`);
  return value;
}

const line = (name: string) => new RegExp(`^(${name}\\s*=\\s*)"([^"]+)"`, "m");
