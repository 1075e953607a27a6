/** @module Lists of the API: pages behind an async iterator. */
import type { Http, Query } from "./http.ts";

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** `for await (const item of listing)`, `await listing.all()`, or page by page. */
export class Listing<T> implements AsyncIterable<T> {
  readonly #http: Http;
  readonly #path: string;
  readonly #query: Query;

  constructor(http: Http, path: string, query: Query = {}) {
    this.#http = http;
    this.#path = path;
    this.#query = query;
  }

  page(cursor?: string, limit?: number): Promise<Page<T>> {
    return this.#http.json("GET", this.#path, {
      query: { ...this.#query, ...(cursor ? { cursor } : {}), ...(limit ? { limit } : {}) },
    });
  }

  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    let cursor: string | undefined;
    do {
      const page = await this.page(cursor);
      yield* page.data;
      cursor = page.next_cursor ?? undefined;
    } while (cursor);
  }
}
