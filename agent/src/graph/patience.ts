/** @module A model that is asked again where that may help: when its provider is too busy, or the answer was cut. */
import { SandbarError } from "@sandbar/shared";
import type { ChosenModel } from "./models.ts";
import { type ProviderFailure, pauseMs, providerFailure } from "./provider-failure.ts";

const RETRIES = 4;

export type Tell = (event: Record<string, unknown>) => void;

export interface Asking {
  readonly chosen: ChosenModel;
  readonly tell: Tell;
  readonly signal: AbortSignal | undefined;
  /** Whether the next attempt does without what was refused; that one is made at once. */
  readonly mended?: (failure: ProviderFailure) => boolean;
}

export async function patiently<T>(
  { chosen, tell, signal, mended = () => false }: Asking,
  ask: () => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await ask();
    } catch (error) {
      signal?.throwIfAborted();
      const failure = providerFailure(error);
      if (mended(failure)) continue;
      const { status, detail } = failure;
      if (!failure.transient || attempt >= RETRIES)
        throw new SandbarError(
          "MODEL_FAILED",
          `${chosen.provider}:${chosen.name} said${status ? ` ${status}` : ""}: ${detail}`,
        );
      const pause = pauseMs(failure, attempt);
      tell({
        type: "model_retry",
        attempt: attempt + 1,
        status,
        detail: detail.slice(0, 300),
        after_ms: Math.round(pause),
      });
      await sleep(pause, signal);
    }
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    function done() {
      signal?.removeEventListener("abort", abort);
      resolve();
    }
    function abort() {
      clearTimeout(timer);
      reject(signal!.reason);
    }
    signal?.addEventListener("abort", abort, { once: true });
  });
}
