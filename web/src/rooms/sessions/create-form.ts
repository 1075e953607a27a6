/** @module What the form for a new session holds, and the request that it means. */
import type { CreateSession, EngineChoice, Language } from "@sandbar/sdk";

export interface CreateForm {
  runtime: Language;
  key: string;
  image: string;
  engine: EngineChoice;
  storage: "TMPFS" | "BIND";
  datasets: "NONE" | "LOCAL_RO" | "API";
  network: "none" | "egress" | "names";
  /** Hosts that may be reached, a line each. */
  allow: string;
  memory_mb: string;
  cpus: string;
  timeout_s: string;
  pids: string;
  tmpfs_mb: string;
  dependencies: string;
  env: string;
  labels: string;
  volumes: { name: string; path: string }[];
  idle: string;
  lifetime: string;
}

export const EMPTY_FORM: CreateForm = {
  runtime: "python",
  key: "",
  image: "",
  engine: "any",
  storage: "TMPFS",
  datasets: "NONE",
  network: "none",
  allow: "",
  memory_mb: "",
  cpus: "",
  timeout_s: "",
  pids: "",
  tmpfs_mb: "",
  dependencies: "",
  env: "",
  labels: "",
  volumes: [],
  idle: "",
  lifetime: "",
};

/** Where the API's names of fields are not the form's. */
const FIELD_OF: Record<string, keyof CreateForm> = { idle_ttl_s: "idle", max_lifetime_s: "lifetime" };

/** What the server found wrong, by the field of the form that said it. */
export function wrongFields(
  errors: readonly { path: string; message: string }[],
): Partial<Record<keyof CreateForm, string>> {
  const wrong: Partial<Record<keyof CreateForm, string>> = {};
  for (const { path, message } of errors) {
    const [first = "", second = ""] = path.split(".");
    const field = first === "limits" || second === "allow" ? second : (FIELD_OF[first] ?? first);
    if (field in EMPTY_FORM) wrong[field as keyof CreateForm] ??= message;
  }
  return wrong;
}

/** The request, or what is wrong with which field. The server checks everything again. */
export function requestOf(
  form: CreateForm,
): { request: CreateSession } | { wrong: Partial<Record<keyof CreateForm, string>> } {
  const wrong: Partial<Record<keyof CreateForm, string>> = {};
  const attempt = <T>(field: keyof CreateForm, read: () => T): T | undefined => {
    try {
      return read();
    } catch (error) {
      wrong[field] = (error as Error).message;
      return undefined;
    }
  };
  const limits: Record<string, number> = {};
  for (const field of ["memory_mb", "cpus", "timeout_s", "pids", "tmpfs_mb"] as const) {
    const value = attempt(field, () => numberIn(form[field]));
    if (value !== undefined) limits[field] = value;
  }
  const dependencies = attempt("dependencies", () => packagesIn(form.dependencies)) ?? {};
  const env = attempt("env", () => pairsIn(form.env)) ?? {};
  const labels = attempt("labels", () => pairsIn(form.labels)) ?? {};
  const idle_ttl_s = attempt("idle", () => secondsIn(form.idle));
  const max_lifetime_s = attempt("lifetime", () => secondsIn(form.lifetime));
  const volumes = form.volumes.filter(({ name, path }) => name !== "" || path !== "");
  if (volumes.some(({ name, path }) => name === "" || path === ""))
    wrong.volumes = "A volume needs a name and a path.";
  if (Object.keys(wrong).length > 0) return { wrong };
  const given = <T extends object>(value: T) => (Object.keys(value).length > 0 ? value : undefined);
  const request: CreateSession = {
    key: form.key.trim() || undefined,
    runtime: form.runtime,
    image: form.image.trim() || undefined,
    engine: form.engine === "any" ? undefined : form.engine,
    storage: form.storage,
    datasets: { access: form.datasets },
    network: form.network === "names" ? { allow: linesIn(form.allow) } : form.network,
    limits: given(limits),
    dependencies: given(dependencies),
    env: given(env),
    labels: given(labels),
    volumes: volumes.length > 0 ? volumes : undefined,
    idle_ttl_s,
    max_lifetime_s,
  };
  return { request: Object.fromEntries(Object.entries(request).filter(([, value]) => value !== undefined)) };
}

const linesIn = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

function numberIn(text: string): number | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Error("A number, please.");
  return value;
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** "90", "90s", "30m", "1h 30m", "2d". */
export function secondsIn(text: string): number | undefined {
  const clean = text.trim().toLowerCase();
  if (clean === "") return undefined;
  if (/^\d+$/.test(clean)) return Number(clean);
  if (!/^(\d+(\.\d+)?\s*[smhd]\s*)+$/.test(clean)) throw new Error("Like 90s, 30m, 1h 30m or 2d.");
  const parts = [...clean.matchAll(/(\d+(?:\.\d+)?)\s*([smhd])/g)];
  return Math.round(parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!]!, 0));
}

/** A line or comma each: "pandas", "pandas==2.2", "pandas>=2,<3", "lodash@4". */
export function packagesIn(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split("\n").map((each) => each.replace(/#.*/, "").trim())) {
    if (line === "") continue;
    const match =
      /^(@?[A-Za-z0-9][A-Za-z0-9._/[\]-]*)\s*(?:==?|@|\s|(?=[<>^~!]))\s*(.*)$/.exec(line) ??
      /^(@?[A-Za-z0-9][A-Za-z0-9._/[\]-]*)()$/.exec(line);
    if (!match) throw new Error(`"${line}" is not a package: one a line, like pandas==2.2.`);
    found[match[1]!] = match[2]!.trim();
  }
  return found;
}

/** A line each: NAME=value. */
export function pairsIn(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`"${line.trim()}" has no =: one a line, like name=value.`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}
