/**
 * How much of each session's output may be on its way to the control plane. A session whose reports are not taken as fast
 * as it speaks is not listened to meanwhile; what it has to say waits in its own guest, and the others' reports do not
 * wait behind it.
 *
 * @module
 */

/** Characters that have not been acknowledged: of one session, and of one when all of them together have too many. */
const WINDOW_CHARS = 1024 * 1024;
const ALL_CHARS = 4 * 1024 * 1024;
const SMALL_WINDOW_CHARS = 128 * 1024;
/** Whatever became of an acknowledgement, nobody is left unheard for longer than this. */
const PATIENCE_MS = 10_000;

export class ReportWindows {
  readonly #full = new Set<ReportWindow>();
  #chars = 0;

  open(onFull: (full: boolean) => void): ReportWindow {
    return new ReportWindow(this, onFull);
  }

  get room(): number {
    return this.#chars > ALL_CHARS ? SMALL_WINDOW_CHARS : WINDOW_CHARS;
  }

  moved(window: ReportWindow, chars: number): void {
    this.#chars += chars;
    if (window.full) this.#full.add(window);
    else this.#full.delete(window);
    if (chars >= 0) return;
    for (const other of this.#full) {
      other.look();
      if (!other.full) this.#full.delete(other);
    }
  }
}

export class ReportWindow {
  readonly #all: ReportWindows;
  readonly #onFull: (full: boolean) => void;
  #chars = 0;
  #full = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(all: ReportWindows, onFull: (full: boolean) => void) {
    this.#all = all;
    this.#onFull = onFull;
  }

  get full(): boolean {
    return this.#full;
  }

  /** So much was sent, or, below zero, need not be waited for any more. */
  move(chars: number): void {
    const before = this.#chars;
    this.#chars = Math.max(0, before + chars);
    this.look();
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = this.#full ? setTimeout(() => this.move(-this.#chars), PATIENCE_MS) : null;
    this.#all.moved(this, this.#chars - before);
  }

  look(): void {
    const full = this.#chars > (this.#full ? this.#all.room / 2 : this.#all.room);
    if (full === this.#full) return;
    this.#full = full;
    this.#onFull(full);
  }
}
