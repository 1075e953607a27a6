/**
 * Pictures of a thread, kept beside its state and named in it by a link: a checkpoint holds the whole state, and a
 * picture in each of them would be written again at every step.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { loadText, saveText } from "@sandbar/worker/src/session/big-text.ts";

const DATA_URL = /^data:(image\/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)$/;
/** Characters of base64. */
const MAX_CHARS = 6_000_000;

export interface StoredImage {
  readonly mime: string;
  /** In base64. */
  readonly data: string;
}

export class Images {
  readonly #sql: SqlStorage;
  readonly #threadId: string;

  constructor(sql: SqlStorage, threadId: string) {
    this.#sql = sql;
    this.#threadId = threadId;
  }

  /** The link under which it is found again. */
  keep({ mime, data }: StoredImage): string {
    const sha256 = createHash("sha256").update(data).digest("hex");
    const known = this.#sql.exec("SELECT 1 FROM images WHERE sha256 = ?", sha256).toArray().length > 0;
    if (!known) {
      const text = saveText(this.#sql, `image/${sha256}`, data);
      this.#sql.exec("INSERT INTO images VALUES (?, ?, ?)", sha256, mime, text);
    }
    return `${imagesPath(this.#threadId)}${sha256}`;
  }

  /** Null for what is no picture as a data URL; larger ones than any model takes are left out of the state. */
  keepUrl(url: string): string | null {
    const [, mime, base64] = DATA_URL.exec(url) ?? [];
    if (!mime || !base64) return null;
    const data = base64.replace(/\s/g, "");
    return data.length > MAX_CHARS ? null : this.keep({ mime, data });
  }

  find(sha256: string): StoredImage | null {
    const [row] = this.#sql
      .exec<{ mime: string; data: string | null }>("SELECT mime, data FROM images WHERE sha256 = ?", sha256)
      .toArray();
    return row ? { mime: row.mime, data: loadText(this.#sql, `image/${sha256}`, row.data) } : null;
  }

  /** Of a link that `keep` gave. */
  behind(url: string): StoredImage | null {
    const path = imagesPath(this.#threadId);
    return url.startsWith(path) ? this.find(url.slice(path.length)) : null;
  }
}

export const imagesPath = (threadId: string) => `/langgraph/threads/${encodeURIComponent(threadId)}/images/`;
