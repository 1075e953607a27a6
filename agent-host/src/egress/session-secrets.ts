/**
 * Values of a session's secrets, asked for when a connection needs them and held in memory for a moment. Nothing of them
 * is written down on this host.
 *
 * @module
 */
import type { SecretValues } from "@sandbar/shared";
import { Refusal } from "./refusal.ts";
import { matches } from "./rules.ts";
import { shown, type Target } from "./target.ts";

/** A value that was replaced is used no longer than this. */
const FRESH_MS = 30_000;
const SECRET_PORTS = [443];

type Named = { readonly host: string };

/** Those of the secrets that go to a target. */
export function secretsFor<T extends Named>(secrets: readonly T[] | undefined, target: Target): T[] {
  return (secrets ?? []).filter(({ host }) => matches(host, target, SECRET_PORTS));
}

export class SessionSecrets {
  readonly #ask: () => Promise<SecretValues>;
  #known: { readonly answer: SecretValues; readonly at: number } | null = null;
  #asking: Promise<SecretValues> | null = null;

  constructor(ask: () => Promise<SecretValues>) {
    this.#ask = ask;
  }

  /** Flat, as headers are written: names and values. `version`: of the rules that hold. */
  async headersFor(target: Target, version: number): Promise<string[]> {
    const { values } = await this.#values(version);
    return secretsFor(values, target).flatMap(({ header, secret, value }) => {
      if (value === null)
        throw new Refusal(502, `the secret ${secret ?? header} for ${shown(target)} is gone`);
      return [header, value];
    });
  }

  async #values(version: number): Promise<SecretValues> {
    const known = this.#known;
    const usable = known && known.answer.version >= version;
    if (usable && performance.now() - known.at < FRESH_MS) return known.answer;
    const joined = this.#asking !== null;
    try {
      let answer = await this.#question();
      // It was asked under older rules.
      if (joined && answer.version < version) answer = await this.#question();
      this.#known = { answer, at: performance.now() };
      return answer;
    } catch {
      // A control plane that is away for a while takes nothing from sessions that run.
      if (usable) return known.answer;
      throw new Refusal(502, "the control plane could not be asked for this session's secrets");
    }
  }

  /** One at a time, whoever waits for it. */
  #question(): Promise<SecretValues> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }
}
