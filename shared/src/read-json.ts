/** @module Text from elsewhere that may be JSON. */

/** Undefined when it is not. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
