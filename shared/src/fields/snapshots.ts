/** @module Fields of snapshots, and of sessions that begin with one. */
import type { FieldNotes } from "./field-note.ts";

const AT = "2026-11-18T10:30:00.000Z";
const SNAPSHOT = "snp_01k9x2c7r4m8q0v5t3w6y1z2ab";

export const SNAPSHOTS: FieldNotes = {
  "Snapshot.id": ["The snapshot's id.", SNAPSHOT],
  "snapshots.path.id": ["The id of the session, or of the snapshot.", SNAPSHOT],
  snapshot: [
    "The snapshot to begin with: files, variables, and the specification where nothing else is said.",
    SNAPSHOT,
  ],
  digest: [
    "SHA-256 of its manifest, which names the hash of everything in it.",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  ],
  "Snapshot.name": ["A name of your own; null without one.", "before-training"],
  "snapshots.name": ["A name of your own.", "before-training"],
  "Snapshot.session_id": ["The session that it is of.", "ses_01k9x2c7r4m8q0v5t3w6y1z2ab"],
  "Snapshot.size": ["Bytes of files and variables together.", 204800],
  files_bytes: ["Bytes of the files, as an archive.", 102400],
  new_bytes: ["Bytes of it that the tenant did not have stored before.", 20480],
  "Snapshot.contexts": ["What became of the variables, context by context."],
  "Snapshot.expires_at": ["When it is deleted.", AT],
  ttl_s: ["How long it is kept, in seconds. Default 604800: 7 days.", 604800],
  on_busy: [
    "When code runs: `wait` for its end (default), `refuse`, or `fork` the kernel's process where the language can.",
    "wait",
  ],
  "snapshots.count": ["How many sessions; default 1.", 2],
  snapshot_bytes: [
    "A snapshot that an earlier answer gave, or this one gives, in base64. Only this deployment takes it back.",
    "eyJmb3JtYXQiOiJzYW5kYmFyLXNuYXBzaG90LzEifQ==",
  ],
  keep: ["What to keep: `nothing` (default), a `snapshot`, or its `bytes` in the answer.", "snapshot"],
  keep_error: ["Why nothing was kept though `keep` asked for it. The code has run all the same."],
  "keep_error.code": ["What happened, from the table of errors.", "HOST_UNREACHABLE"],
  "keep_error.detail": ["More about it.", "The host does not answer"],
  "keep_error.hint": ["What to do about it.", "Try again soon."],
  "snapshots.code": ["The code. The value of its last expression becomes a result.", "print(6 * 7)"],
  "snapshots.timeout_s": ["After so many seconds the code is interrupted.", 60],
  "snapshots.stdin": ["What the code may read from standard input.", "yes\n"],
  execution: ["The execution, after its end."],
  restored: ["Of a session that began with a snapshot: which, and what became of the variables."],
  "restored.snapshot": ["The snapshot.", SNAPSHOT],
  "restored.at": ["When it was made.", AT],
  "restored.contexts": ["Context by context; empty until the session is ready."],
  "contexts.format": [
    "How its variables are written; null when there is nothing of them.",
    "python-cloudpickle/1",
  ],
  "contexts.size": ["Bytes of its variables.", 102400],
  saved: ["Variables that are whole.", 12],
  degraded: ["Variables that are not quite what they were.", 1],
  "contexts.lost": ["Variables that are not in it.", 1],
  "contexts.variables": ["By name; of a snapshot, the lost and degraded ones first; at most 200."],
  "variables.status": ["Whole, not quite itself, or not kept.", "lost"],
  "variables.reason": ["Why.", "generators cannot be saved"],
};
