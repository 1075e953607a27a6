/** @module What stands behind an option, read or refused. */
import { InvalidArgumentError } from "commander";

export function number(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || Number.isNaN(value)) throw new InvalidArgumentError("must be a number");
  return value;
}

export function positive(text: string): number {
  const value = number(text);
  if (value <= 0) throw new InvalidArgumentError("must be more than 0");
  return value;
}

export function pair(text: string, soFar: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("must be NAME=VALUE");
  return { ...soFar, [text.slice(0, at)]: text.slice(at + 1) };
}

/** A header for a host, whose value is a stored secret. */
export function secret(
  text: string,
  soFar: { host: string; header: string; secret: string }[] = [],
): { host: string; header: string; secret: string }[] {
  const [host, header, name, ...more] = text.trim().split(/\s+/);
  if (!host || !header || !name || more.length > 0)
    throw new InvalidArgumentError(
      "must be 'HOST HEADER NAME', such as 'api.example.com Authorization billing'",
    );
  return [...soFar, { host, header, secret: name }];
}

export function several(text: string, soFar: string[] = []): string[] {
  return [...soFar, text];
}

const UNITS: Record<string, number> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** In seconds. */
export function duration(text: string): number {
  const [, amount, unit] = /^(\d+)([smhd]?)$/.exec(text.trim()) ?? [];
  if (!amount || Number(amount) === 0) throw new InvalidArgumentError("must be a time like 90, 30m or 2h");
  return Number(amount) * UNITS[unit!]!;
}

/** Names with what pip, npm or R would have after them; nothing means the newest. */
export function packages(text: string, soFar: Record<string, string> = {}): Record<string, string> {
  const found = { ...soFar };
  // A comma also stands inside of a version, as in pandas>=2,<3.
  for (const part of text.split(/[\s,]+(?=[@A-Za-z])/).filter((part) => part.trim() !== "")) {
    const [, name, version] = /^(@?[^@=<>!~^\s]+)(.*)$/.exec(part.trim()) ?? [];
    if (!name) throw new InvalidArgumentError("must be packages like pandas==2.2,duckdb");
    found[name] = version!
      .replace(/^(==|@|=)\s*/, "")
      .replace(/,$/, "")
      .trim();
  }
  return found;
}

export function mount(text: string, soFar: { name: string; path: string }[] = []) {
  const [, name, path] = /^([^:]+):(\/.*)$/.exec(text) ?? [];
  if (!name || !path) throw new InvalidArgumentError("must be NAME:PATH, as in data:/mnt/data");
  return [...soFar, { name, path }];
}
