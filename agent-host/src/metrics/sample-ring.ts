/** @module The newest samples of one session. A sample is the difference of two readings, so it takes two for the first. */
import { SAMPLE_LIMIT, type WireSample } from "@sandbar/shared";
import type { BoxUsage } from "../engine/box.ts";

interface Reading {
  readonly at: number;
  readonly usage: BoxUsage;
}

export class SampleRing {
  readonly #samples: WireSample[] = [];
  #last: Reading | null = null;

  /** When it was last read; null before the first time. */
  get readAt(): number | null {
    return this.#last?.at ?? null;
  }

  add(at: number, usage: BoxUsage): void {
    const sample = this.sampleOf(at, usage);
    this.#last = { at, usage };
    if (!sample) return;
    this.#samples.push(sample);
    if (this.#samples.length > SAMPLE_LIMIT) this.#samples.shift();
  }

  /** What a reading says after the last one that was added; null when there is none. */
  sampleOf(at: number, usage: BoxUsage): WireSample | null {
    const last = this.#last;
    if (!last || at <= last.at) return null;
    const percent = (usage.cpuUs - last.usage.cpuUs) / (at - last.at) / 10;
    return [
      Math.round(at),
      Math.max(0, Math.round(percent * 10) / 10),
      usage.memoryBytes,
      usage.processes,
      usage.diskBytes,
    ];
  }

  /** The oldest first. */
  newest(count: number): WireSample[] {
    return this.#samples.slice(-count);
  }
}
