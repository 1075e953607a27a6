/**
 * What the notebook of one session knows. Executions come from the journal in pages, from the tenant's events, and from
 * the streams of those that run; whoever started them. The journal is the truth: a reload or a cut loses nothing.
 *
 * @module
 */
import type { ExecutionNews, ExecutionRecord, RunOptions, Session } from "@sandbar/sdk";
import { SandbarError } from "@sandbar/sdk";
import { type Entry, entryOfNews, entryOfRecord, isOpen, isOutOfOrder, withEvent } from "./entry.ts";
import { afterRun, arrange, type Cell, type Layout } from "./layout.ts";
import { loadLayout, saveLayout } from "./layout-storage.ts";

export interface Snapshot {
  cells: readonly Cell[];
  /** Executions that have not ended. */
  open: readonly Entry[];
  loaded: boolean;
  /** Whether the journal has earlier ones. */
  earlier: boolean;
  error: unknown;
}

const PAGE = 25;
/** Browsers give a page six connections to a server of HTTP/1.1, and others need some too. */
const STREAMS = 3;
const LOOK_AGAIN_MS = 3000;
/** An agent may run thousands while one watches: so many are kept at most, while nobody looks further up. */
const KEPT = 200;
const TRIMMED_TO = 100;
/** A gap that is longer is not filled: then the notebook begins anew, at its end. */
const GAP_PAGES = 8;

export class NotebookStore {
  #session: Session;
  readonly #entries = new Map<string, Entry>();
  readonly #following = new Map<string, AbortController>();
  readonly #listeners = new Set<() => void>();
  readonly #waiters = new Map<string, ((entry: Entry) => void)[]>();
  #layout: Layout;
  #cursor: string | null = null;
  /** Of the last look at the journal, which has no gap below it. */
  #newestRead: string | null = null;
  #loaded = false;
  #error: unknown = null;
  #snapshot: Snapshot | null = null;
  #frame = 0;
  #closed = false;
  #ordering = false;
  readonly #asked = new Set<string>();
  #watched = true;
  /** Called when an execution has ended: variables may have changed. */
  onEnded: (entry: Entry) => void = () => {};
  /** Whether the newest are in sight. */
  atEnd: () => boolean = () => true;

  constructor(session: Session) {
    this.#session = session;
    this.#layout = loadLayout(session.id);
  }

  get layout(): Layout {
    return this.#layout;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  snapshot = (): Snapshot => {
    this.#snapshot ??= this.#look();
    return this.#snapshot;
  };

  #look(): Snapshot {
    const entries = [...this.#entries.values()].sort(inOrder);
    return {
      cells: arrange(entries, this.#layout),
      open: entries.filter(isOpen),
      loaded: this.#loaded,
      earlier: this.#cursor !== null,
      error: this.#error,
    };
  }

  /** Output may come a thousand times a second; it is drawn once a frame. */
  #changed(): void {
    this.#frame ||= requestAnimationFrame(() => this.#tell());
  }

  #tell(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#snapshot = null;
    for (const listener of this.#listeners) listener();
  }

  open(): void {
    this.#closed = false;
    void this.refresh();
  }

  close(): void {
    this.#closed = true;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#stopFollowing();
  }

  /** While nobody looks nothing is streamed: the connection is for tabs that are looked at. */
  set watched(watched: boolean) {
    if (this.#watched === watched) return;
    this.#watched = watched;
    if (watched) this.#followOpen();
    else this.#stopFollowing();
  }

  #stopFollowing(): void {
    for (const controller of this.#following.values()) controller.abort();
    this.#following.clear();
  }

  /** Reads the newest; again after a gap, when it takes over what is new. */
  async refresh(): Promise<void> {
    try {
      const { records, cursor } = await this.#newest();
      this.#newestRead = records[0]?.id ?? null;
      if (cursor !== undefined) {
        const oldest = records.at(-1)?.queued_at ?? "";
        for (const [id, entry] of this.#entries)
          if (!isOpen(entry) && entry.queuedAt < oldest) this.#entries.delete(id);
        this.#cursor = cursor;
      }
      for (const record of records) {
        const before = this.#entries.get(record.id);
        // Its stream knows more, and ends with the record itself.
        if (this.#following.has(record.id)) continue;
        if (!before || isOpen(before) || before.partial)
          this.#take(entryOfRecord(record, unstreamed(before)));
      }
      this.#loaded = true;
      this.#error = null;
      this.#followOpen();
      void this.#putInOrder();
    } catch (error) {
      this.#error = error;
    }
    this.#changed();
  }

  /** Back to those that had been read; with a cursor when it begins anew. */
  async #newest(): Promise<{ records: ExecutionRecord[]; cursor?: string | null }> {
    const first = await this.#session.executions().page(undefined, PAGE);
    if (!this.#loaded) return { records: first.data, cursor: first.next_cursor };
    const records = [...first.data];
    let cursor = first.next_cursor;
    const met = () => records.some(({ id }) => id === this.#newestRead);
    for (let pages = 1; cursor !== null && !met(); pages++) {
      if (pages === GAP_PAGES) return { records: first.data, cursor: first.next_cursor };
      const page = await this.#session.executions().page(cursor, PAGE);
      records.push(...page.data);
      cursor = page.next_cursor;
    }
    return { records };
  }

  async loadEarlier(): Promise<void> {
    if (this.#cursor === null) return;
    const page = await this.#session.executions().page(this.#cursor, PAGE);
    this.#cursor = page.next_cursor;
    for (const record of page.data) if (!this.#entries.has(record.id)) this.#take(entryOfRecord(record));
    this.#changed();
    void this.#putInOrder();
  }

  /** What came mixed is read again from its events, one cell after the other, the newest first. */
  async #putInOrder(): Promise<void> {
    if (this.#ordering) return;
    this.#ordering = true;
    for (;;) {
      const entries = [...this.#entries.values()].sort(inOrder).reverse();
      const next = entries.find((entry) => isOutOfOrder(entry) && !this.#asked.has(entry.id));
      if (!next || this.#closed) break;
      // Events are not kept for ever: then it stays as its record is.
      this.#asked.add(next.id);
      await this.loadWhole(next.id).catch(() => {});
    }
    this.#ordering = false;
  }

  take(news: ExecutionNews): void {
    if (news.session !== this.#session.id) return;
    const before = this.#entries.get(news.execution);
    if (before && !isOpen(before)) return;
    this.#take(entryOfNews(news, before));
    if (this.#entries.size > KEPT && this.atEnd()) this.#forgetOldest();
    this.#changed();
    if (news.state === "ended" && !this.#following.has(news.execution)) void this.#readRecord(news.execution);
    else this.#followOpen();
  }

  #forgetOldest(): void {
    const entries = [...this.#entries.values()].sort(inOrder);
    for (const entry of entries.slice(0, -TRIMMED_TO)) if (!isOpen(entry)) this.#entries.delete(entry.id);
    this.#cursor = entries.at(-TRIMMED_TO)!.id;
  }

  /** Runs the code of a cell; resolves when it is accepted. */
  async run(cell: string, code: string, options: Pick<RunOptions, "context" | "language">): Promise<string> {
    const record = await this.#session.start(code, options);
    // Events may have told of it, and even of its end, before this answer came.
    const known = this.#entries.get(record.id);
    this.#take({ ...(known ?? entryOfRecord(record)), code, partial: false });
    this.setLayout(afterRun(this.#layout, cell, record.id));
    this.#followOpen();
    return record.id;
  }

  /** Resolves when the execution has ended. */
  ended(id: string): Promise<Entry> {
    const entry = this.#entries.get(id);
    if (entry && !isOpen(entry)) return Promise.resolve(entry);
    return new Promise((resolve) => this.#waiters.set(id, [...(this.#waiters.get(id) ?? []), resolve]));
  }

  /** All output that is still kept, instead of the record's part of it. */
  async loadWhole(id: string): Promise<void> {
    const entry = this.#entries.get(id)!;
    let whole: Entry = { ...entry, outputs: [], artifacts: [], lastEvent: 0 };
    for await (const event of this.#session.follow(id)) whole = withEvent(whole, event);
    // Of an old one there may be less in the events than in the record.
    if (!this.#entries.has(id) || sizeOf(whole) < sizeOf(entry)) return;
    this.#entries.set(id, { ...whole, code: entry.code, partial: entry.partial });
    this.#changed();
  }

  setLayout(layout: Layout): void {
    this.#layout = layout;
    saveLayout(this.#session.id, layout);
    // At once: an editor must not be shown what it held a frame ago.
    this.#tell();
  }

  #take(entry: Entry): void {
    const before = this.#entries.get(entry.id);
    this.#entries.set(entry.id, entry);
    if (isOpen(entry) || (before && !isOpen(before))) return;
    for (const resolve of this.#waiters.get(entry.id) ?? []) resolve(entry);
    this.#waiters.delete(entry.id);
    if (before) this.onEnded(entry);
  }

  /** The first of each context, since it is the one that runs; as many as there are connections for. */
  #followOpen(): void {
    if (this.#closed || !this.#watched) return;
    const contexts = new Set<string>();
    for (const entry of [...this.#entries.values()].filter(isOpen).sort(inOrder)) {
      if (contexts.has(entry.context)) continue;
      contexts.add(entry.context);
      if (this.#following.size >= STREAMS) return;
      if (!this.#following.has(entry.id)) void this.#follow(entry.id);
    }
  }

  async #follow(id: string): Promise<void> {
    const controller = new AbortController();
    this.#following.set(id, controller);
    const { lastEvent, partial } = this.#entries.get(id)!;
    if (partial) void this.#readCode(id);
    let fresh = lastEvent === 0;
    try {
      const from = fresh ? {} : { lastEventId: String(lastEvent) };
      const stream = this.#session.follow(id, from);
      // Not the stream's own signal: that one would interrupt the code.
      controller.signal.addEventListener("abort", () => stream.leave(), { once: true });
      for await (const event of stream) {
        const entry = this.#entries.get(id)!;
        // What a record had so far comes again, in its order.
        this.#take(withEvent(fresh ? { ...entry, outputs: [], artifacts: [] } : entry, event));
        fresh = false;
        this.#changed();
      }
    } catch (error) {
      if (controller.signal.aborted) return;
      if (!(error instanceof SandbarError) || error.status === 404) await this.#readRecord(id);
      else setTimeout(() => this.#followOpen(), LOOK_AGAIN_MS);
    } finally {
      if (this.#following.get(id) === controller) this.#following.delete(id);
      this.#followOpen();
    }
  }

  async #readCode(id: string): Promise<void> {
    const { code } = await this.#session.execution(id).catch(() => ({ code: undefined }));
    const entry = this.#entries.get(id);
    if (!entry || code === undefined) return;
    this.#entries.set(id, { ...entry, code, partial: false });
    this.#changed();
  }

  async #readRecord(id: string): Promise<void> {
    try {
      this.#take(entryOfRecord(await this.#session.execution(id), unstreamed(this.#entries.get(id))));
      void this.#putInOrder();
    } catch {
      setTimeout(() => !this.#closed && void this.refresh(), LOOK_AGAIN_MS);
    }
    this.#changed();
  }
}

function inOrder(a: Entry, b: Entry): number {
  return a.queuedAt < b.queuedAt ? -1 : a.queuedAt > b.queuedAt ? 1 : a.id < b.id ? -1 : 1;
}

function sizeOf({ outputs }: Entry): number {
  return outputs.reduce((sum, output) => sum + ("text" in output ? output.text.length : 1), 0);
}

/** A stream that broke off may have brought only a part: then the record's own output is more. */
function unstreamed(entry: Entry | undefined): Entry | undefined {
  return entry && isOpen(entry) ? { ...entry, lastEvent: 0 } : entry;
}
