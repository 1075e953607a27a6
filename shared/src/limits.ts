/** @module Every bound of the product that is not an operator's setting, in one place. */

/** Characters kept in an Execution record; the totals are reported beside them. */
export const OUTPUT_CAPS = { stdout: 50_000, stderr: 120_000, result: 30_000, traceback: 8_000 } as const;

/** Bytes of UTF-8 that one execution may stream per output stream; what comes after is counted, not kept. */
export const STREAM_LIMIT_BYTES = 4 * 1024 * 1024;
/** Characters of one value in a MIME bundle (a base64 PNG, say); longer text is cut, other values are left out, and the answer says so. */
export const MIME_VALUE_LIMIT = 1_000_000;
/** Characters of all MIME bundles of one execution. */
export const MIME_TOTAL_LIMIT = 8_000_000;
/** Text of one stdout or stderr event. */
export const EVENT_TEXT_LIMIT = 32 * 1024;

export const CODE_LIMIT_CHARS = 1_000_000;
export const STDIN_LIMIT_CHARS = 1_000_000;
export const ENV_LIMIT_ENTRIES = 128;
export const ENV_VALUE_LIMIT = 32_768;
export const LABEL_LIMIT = 32;
export const QUEUE_LIMIT = 64;
export const CONTEXT_LIMIT = 16;

export const TIMEOUT_DEFAULT_S = 30;
export const TIMEOUT_MAX_S = 24 * 3600;
export const IDLE_TTL_DEFAULT_S = 1800;
export const MAX_LIFETIME_DEFAULT_S = 7200;
export const TTL_MAX_S = 30 * 24 * 3600;

/** One line on the guest's socket. */
export const GUEST_LINE_LIMIT_BYTES = 4 * 1024 * 1024;
/** One frame on the host's WebSocket; larger reports are split. */
export const FRAME_LIMIT_BYTES = 2 * 1024 * 1024;
/** Body of a JSON request. */
export const JSON_BODY_LIMIT_BYTES = 8 * 1024 * 1024;

/** On a sandbox's own loopback: the way to what its session's rules name. */
export const PROXY_PORT = 61_080;
/** Connections of one session through it at once. */
export const PROXIED_LIMIT = 64;
/** Rules of one session. */
export const NETWORK_RULE_LIMIT = 200;
/** Headers of one session's rules. */
export const SESSION_SECRET_LIMIT = 20;
/** Stored ones of a tenant. */
export const SECRET_LIMIT = 100;
