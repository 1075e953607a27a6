/**
 * Markdown that is still being written. A block is drawn for good once the next one has begun: until then more text may
 * change what it is, as a line of dashes makes a title of a paragraph.
 *
 * @module
 */
import type { Style } from "../terminal/style.ts";
import { blocksOf, renderBlock } from "./markdown.ts";

export interface Drawn {
  /** Lines that stay. */
  readonly done: string[];
  /** Lines of the last block, as far as it has come. */
  readonly live: string[];
}

export class MarkdownStream {
  #taken = 0;

  /** Whether lines of it stand already. */
  get begun(): boolean {
    return this.#taken > 0;
  }

  /** All of the text that has come, safe to be shown; `whole` when no more will. */
  take(text: string, whole: boolean, columns: number, style: Style): Drawn {
    const blocks = blocksOf(text.slice(this.#taken));
    const last = blocks.findLastIndex(({ type }) => type !== "space");
    const finished = whole ? blocks.length : Math.max(0, last);
    const done = blocks.slice(0, finished);
    this.#taken += done.reduce((sum, { raw }) => sum + raw.length, 0);
    const drawn = (tokens: typeof blocks) =>
      tokens.flatMap((token) => {
        const rendered = renderBlock(token, columns, style);
        return rendered.length > 0 ? [...rendered, ""] : [];
      });
    return { done: drawn(done), live: drawn(blocks.slice(finished)) };
  }
}
