/**
 * The one error table. Every code that a caller can see, in a problem document or in an
 * execution record, stands here with its HTTP status, whether the same call may succeed later, and a hint.
 *
 * @module
 */
import { z } from "zod";
import { cut } from "./text.ts";

/** More than anybody reads. Whoever makes a failure, and of whatever, it fits a frame beside many others. */
export const DETAIL_LIMIT_CHARS = 4_000;

interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
  readonly hint: string;
}

export const ERRORS = {
  INVALID_JSON: {
    status: 400,
    title: "The body is not valid JSON",
    retryable: false,
    hint: "Send a JSON object in UTF-8 with Content-Type: application/json.",
  },
  VALIDATION_FAILED: {
    status: 400,
    title: "The request does not fit its schema",
    retryable: false,
    hint: "The errors field names each wrong field; /docs shows the schema.",
  },
  MODEL_INVALID: {
    status: 400,
    title: "The model or its address cannot be read",
    retryable: false,
    hint: "Give the model as provider:model and the address as http(s)://…",
  },
  PATH_INVALID: {
    status: 400,
    title: "The path is not allowed",
    retryable: false,
    hint: "Give a path inside the session, without NUL; relative paths start at /session.",
  },
  UNAUTHENTICATED: {
    status: 401,
    title: "No valid API key",
    retryable: false,
    hint: "Send Authorization: Bearer <api key or session token>. On one machine the first key is in $SANDBAR_HOME/api-key.",
  },
  ENROLLMENT_INVALID: {
    status: 401,
    title: "The enrollment token is not valid",
    retryable: false,
    hint: "Tokens work once and for 15 minutes. Make a new one with POST /v1/hosts/enrollments.",
  },
  PATH_NOT_PERMITTED: {
    status: 403,
    title: "The sandbox's user may not do this with the path",
    retryable: false,
    hint: "Write below /session or /tmp; the rest of the file system is read-only.",
  },
  LINK_INVALID: {
    status: 403,
    title: "The link is not valid or has expired",
    retryable: false,
    hint: "Make a new link with POST /v1/artifacts/:id/link.",
  },
  FORBIDDEN: {
    status: 403,
    title: "The key lacks the scope for this",
    retryable: false,
    hint: "Use a key with the scope that the detail names.",
  },
  FORBIDDEN_BY_TOKEN: {
    status: 403,
    title: "The token does not allow this",
    retryable: false,
    hint: "Make a token with the verb that the detail names, by POST /v1/sessions/:id/tokens, or use an API key.",
  },
  FORBIDDEN_BY_POLICY: {
    status: 403,
    title: "The tenant's policy does not allow this",
    retryable: false,
    hint: "GET /v1/policy says what is allowed. Operators change it with PUT /v1/policies/:tenant.",
  },
  ORIGIN_NOT_ALLOWED: {
    status: 403,
    title: "Pages of this origin may not do this",
    retryable: false,
    hint: "For MCP, add the page's origin to MCP_ALLOWED_ORIGINS. The console's cookie is for its own pages; behind a proxy set CONSOLE_ORIGIN.",
  },
  HOST_NAME_NOT_ALLOWED: {
    status: 403,
    title: "This host name is not known to be ours",
    retryable: false,
    hint: "Use HTTPS, an address or localhost, or add the name to ALLOWED_HOSTS.",
  },
  MODEL_URL_NOT_ALLOWED: {
    status: 403,
    title: "The model's address lies in a private network",
    retryable: false,
    hint: "Ask the operator to set SANDBAR_MODEL_PRIVATE_URLS.",
  },
  IMAGE_NOT_ALLOWED: {
    status: 403,
    title: "The image is not on the operator's list",
    retryable: false,
    hint: "Ask the operator to add it to SANDBAR_ALLOWED_IMAGES on the host.",
  },
  SOURCE_NOT_ALLOWED: {
    status: 403,
    title: "The source is not allowed",
    retryable: false,
    hint: "Host paths must lie under SANDBAR_IMPORT_DIRS; dataset sources must be registered.",
  },
  NOT_FOUND: {
    status: 404,
    title: "Not found",
    retryable: false,
    hint: "Check the id or path; what belongs to another tenant looks exactly like what is missing.",
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    title: "The method is not allowed here",
    retryable: false,
    hint: "See /docs for the methods of this path.",
  },
  NOT_ACCEPTABLE: {
    status: 406,
    title: "None of the accepted media types can be produced",
    retryable: false,
    hint: "Accept application/json or text/event-stream.",
  },
  REQUEST_TIMEOUT: {
    status: 408,
    title: "The body did not come in time",
    retryable: true,
    hint: "Send it again, all of it and without long pauses.",
  },
  SESSION_KEY_CONFLICT: {
    status: 409,
    title: "A session with this key exists with another specification",
    retryable: false,
    hint: "Use the same specification, another key, or delete the session first.",
  },
  IDEMPOTENCY_CONFLICT: {
    status: 409,
    title: "This Idempotency-Key was used with another request",
    retryable: false,
    hint: "Use a new key for new code.",
  },
  SESSION_NOT_READY: {
    status: 409,
    title: "The session is not ready",
    retryable: true,
    hint: "Wait until its status is ready.",
  },
  NETWORK_FIXED: {
    status: 409,
    title: "The session's network cannot be changed",
    retryable: false,
    hint: 'Create the session with network: {"allow": []}; its rules can be changed while it runs.',
  },
  CONTEXT_EXISTS: {
    status: 409,
    title: "A context with this name exists with another language",
    retryable: false,
    hint: "Choose another name.",
  },
  PATH_EXISTS: {
    status: 409,
    title: "Something else has this path",
    retryable: false,
    hint: "Choose another path, remove what is there, or overwrite it.",
  },
  FOLDER_NOT_EMPTY: {
    status: 409,
    title: "The folder is not empty",
    retryable: false,
    hint: "Remove it with recursive=true.",
  },
  SOURCE_EXISTS: {
    status: 409,
    title: "A dataset source with this name exists",
    retryable: false,
    hint: "Use another name, or delete the source first.",
  },
  DATASETS_DISABLED: {
    status: 409,
    title: "This session has no API datasets",
    retryable: false,
    hint: 'Create the session with datasets: {access: "API"}.',
  },
  VOLUME_EXISTS: {
    status: 409,
    title: "A volume with this name exists with another size",
    retryable: false,
    hint: "Leave size_mb out to use it as it is, or choose another name.",
  },
  VOLUME_IN_USE: {
    status: 409,
    title: "A session uses the volume",
    retryable: true,
    hint: "Delete the sessions that mount it first.",
  },
  CONTEXT_BUSY: {
    status: 409,
    title: "Code runs in a context of the session",
    retryable: true,
    hint: 'Wait for its end, or snapshot with on_busy: "wait".',
  },
  SNAPSHOT_UNDER_WAY: {
    status: 409,
    title: "A snapshot of the session is being made",
    retryable: true,
    hint: "Wait for it; a session is snapshotted once at a time.",
  },
  PROCESS_ENDED: {
    status: 409,
    title: "The process reads no more",
    retryable: false,
    hint: "It has ended or its input was closed; GET …/processes/:pid says which.",
  },
  THREAD_EXISTS: {
    status: 409,
    title: "A thread with this id exists",
    retryable: false,
    hint: "Use another id, or if_exists: do_nothing.",
  },
  THREAD_BUSY: {
    status: 409,
    title: "A run of the thread is under way",
    retryable: true,
    hint: "Wait for it, cancel it, or choose another multitask_strategy.",
  },
  MODEL_NOT_SET: {
    status: 409,
    title: "The agent has no model",
    retryable: false,
    hint: 'Set one with PUT /v1/settings, {model: "provider:model", api_key}, or SANDBAR_MODEL and the provider\'s key.',
  },
  NOT_A_TERMINAL: {
    status: 409,
    title: "The process has no terminal",
    retryable: false,
    hint: "Start it with pty: {cols, rows}.",
  },
  PROCESS_GONE: {
    status: 410,
    title: "The process of this Idempotency-Key is gone",
    retryable: false,
    hint: "It was started once. Use a new key to start another one.",
  },
  CONTENT_LOST: {
    status: 410,
    title: "The store no longer has these bytes",
    retryable: false,
    hint: "Make the file again: the same content brings every artifact that had it back.",
  },
  SESSION_ENDED: {
    status: 410,
    title: "The session has ended",
    retryable: false,
    hint: "Create it again; artifacts that were listed are kept, variables and other files are gone.",
  },
  ETAG_MISMATCH: {
    status: 412,
    title: "The file is not the one that If-Match names",
    retryable: false,
    hint: "Somebody has changed or removed it. Read it again, and write with the etag that it has now.",
  },
  PAYLOAD_TOO_LARGE: {
    status: 413,
    title: "The body is too large",
    retryable: false,
    hint: "Upload large content as a file instead.",
  },
  QUOTA_EXCEEDED: {
    status: 403,
    title: "A quota is used up",
    retryable: false,
    hint: "The detail says which. End sessions or delete artifacts, or ask the operator for a larger share.",
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    title: "The body's media type is not supported",
    retryable: false,
    hint: "Send Content-Type: application/json.",
  },
  RANGE_NOT_SATISFIABLE: {
    status: 416,
    title: "The range lies outside the content",
    retryable: false,
    hint: "Ask for a range within the size.",
  },
  NOT_A_FILE: {
    status: 422,
    title: "The path is not a regular file",
    retryable: false,
    hint: "FIFOs, sockets, devices and files of /proc have no content that could be sent.",
  },
  NOT_A_FOLDER: {
    status: 422,
    title: "The path is not a folder",
    retryable: false,
    hint: "Give the path of a folder.",
  },
  ARCHIVE_INVALID: {
    status: 422,
    title: "The archive cannot be unpacked",
    retryable: false,
    hint: "The detail names the entry. Absolute names, .., devices and links that lead out are refused; nothing was unpacked.",
  },
  SNAPSHOT_DAMAGED: {
    status: 422,
    title: "The snapshot cannot be restored",
    retryable: false,
    hint: "Its bytes are missing, changed, or not those of a snapshot. Use another one; a new snapshot brings lost bytes back.",
  },
  IMAGE_UNSUPPORTED: {
    status: 422,
    title: "The image cannot run a sandbox",
    retryable: false,
    hint: "The image needs Python 3.9 or newer as python3, and the chosen runtime.",
  },
  IMAGE_NOT_FOUND: {
    status: 422,
    title: "The image was not found",
    retryable: false,
    hint: "Build or pull it on the host, or check its name.",
  },
  UNSUPPORTED_BY_ENGINE: {
    status: 422,
    title: "The session's engine cannot do this",
    retryable: false,
    hint: 'Create the session with engine: "container", which needs a host with Docker; GET /v1/hosts says what each host can do.',
  },
  UNSUPPORTED_BY_AGENT: {
    status: 422,
    title: "The agent has not this part of the LangGraph Platform",
    retryable: false,
    hint: "The detail says what to do instead; docs/agent.md has what there is.",
  },
  EGRESS_UNAVAILABLE: {
    status: 422,
    title: "The host offers no network to sessions",
    retryable: false,
    hint: 'Use network: "none", or ask the operator; the detail says what is missing.',
  },
  DATASETS_UNAVAILABLE: {
    status: 422,
    title: "The host has no local datasets",
    retryable: false,
    hint: 'Use datasets: {access: "API"}, or ask the operator to set DATASETS_HOST_RO on the host.',
  },
  LANGUAGE_UNAVAILABLE: {
    status: 422,
    title: "The image does not have this language",
    retryable: false,
    hint: "Choose a language that the session's image has.",
  },
  DEPENDENCY_FAILED: {
    status: 422,
    title: "A dependency could not be installed",
    retryable: false,
    hint: "The detail names the package and what the installer said.",
  },
  DATASET_FAILED: {
    status: 422,
    title: "The dataset could not be staged",
    retryable: true,
    hint: "The detail says what the source answered.",
  },
  LIMIT_EXCEEDED: {
    status: 422,
    title: "A limit is above the operator's maximum",
    retryable: false,
    hint: "Ask for less; the detail names the maximum.",
  },
  QUEUE_FULL: {
    status: 429,
    title: "Too many executions wait in this context",
    retryable: true,
    hint: "Wait for some to finish, or use another context.",
  },
  RATE_LIMITED: {
    status: 429,
    title: "Too many requests",
    retryable: true,
    hint: "Slow down; Retry-After says how long to wait.",
  },
  PROCESS_LIMIT: {
    status: 429,
    title: "The session has its maximum of processes",
    retryable: true,
    hint: "End some with DELETE …/processes/:pid, or create the session with larger limits.pids.",
  },
  SESSION_LIMIT: {
    status: 429,
    title: "The tenant has its maximum of sessions",
    retryable: true,
    hint: "Delete a session, or wait for one to expire.",
  },
  INTERNAL: {
    status: 500,
    title: "Something went wrong inside Sandbar",
    retryable: true,
    hint: "Try again; report the request_id if it stays.",
  },
  SECRET_UNREADABLE: {
    status: 503,
    title: "A stored secret cannot be opened",
    retryable: false,
    hint: "Give the control plane the SECRETS_KEY again that it had, or save the secret anew.",
  },
  SESSION_START_FAILED: {
    status: 502,
    title: "The session could not be started",
    retryable: true,
    hint: "The detail says what the host reported.",
  },
  TRANSFER_FAILED: {
    status: 502,
    title: "The transfer was cut",
    retryable: true,
    hint: "Nothing of it was kept. Try again.",
  },
  HOST_ERROR: {
    status: 502,
    title: "The host could not do this",
    retryable: true,
    hint: "The detail says what the host reported.",
  },
  MODEL_FAILED: {
    status: 502,
    title: "The model's provider did not answer",
    retryable: true,
    hint: "The detail is what it said. POST /v1/settings/test tries the settings.",
  },
  RUN_FAILED: {
    status: 500,
    title: "The run could not be carried out",
    retryable: true,
    hint: "The thread's state is as before its last step; start another run.",
  },
  PORT_CLOSED: {
    status: 502,
    title: "No server answers on this port of the session",
    retryable: true,
    hint: "Start a server there, as a process, that listens on 127.0.0.1 or on all addresses; it may still be starting.",
  },
  STORE_UNAVAILABLE: {
    status: 503,
    title: "The artifact store did not take or give the bytes",
    retryable: true,
    hint: "Try again. On one machine, see whether the disk of SANDBAR_HOME is full.",
  },
  NO_HOST_AVAILABLE: {
    status: 503,
    title: "No host has room",
    retryable: true,
    hint: "Start agent-host on a machine, or wait for sessions to end.",
  },
  HOST_UNREACHABLE: {
    status: 503,
    title: "The session's host cannot be reached",
    retryable: true,
    hint: "The session runs on there and answers when the host is back.",
  },
  STORAGE_FULL: {
    status: 507,
    title: "The session's storage is full",
    retryable: false,
    hint: "Remove files, or create the session with a larger limits.tmpfs_mb or with storage BIND.",
  },
  HOST_TIMEOUT: {
    status: 504,
    title: "The host did not answer in time",
    retryable: true,
    hint: "Try again.",
  },
  EXECUTION_TIMEOUT: {
    status: 408,
    title: "The code ran longer than its timeout",
    retryable: false,
    hint: "Raise timeout_s, or run it as a process.",
  },
  INTERRUPTED: {
    status: 409,
    title: "The code was interrupted",
    retryable: false,
    hint: "state says whether the variables survived.",
  },
  KERNEL_DIED: {
    status: 500,
    title: "The kernel died",
    retryable: false,
    hint: "A new kernel is ready; files are kept, variables are gone.",
  },
  CONTAINER_DIED: {
    status: 500,
    title: "The container died",
    retryable: false,
    hint: "Create the session again.",
  },
  OOM_KILLED: {
    status: 500,
    title: "The code ran out of memory",
    retryable: false,
    hint: "Use less memory or a session with a larger limits.memory_mb; files are kept, variables are gone.",
  },
  SESSION_STOPPED: {
    status: 410,
    title: "The session was stopped while this ran",
    retryable: false,
    hint: "Create the session again.",
  },
  HOST_LOST: {
    status: 503,
    title: "The host was lost before the code started",
    retryable: true,
    hint: "The code did not run. Create the session again on another host.",
  },
  OUTCOME_UNKNOWN: {
    status: 500,
    title: "The host was lost while this ran",
    retryable: false,
    hint: "The code may or may not have finished. Check its effects before you run it again.",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const ErrorCodeSchema = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

export const FieldErrorSchema = z.object({ path: z.string(), message: z.string() });

export const ProblemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number().int(),
  code: ErrorCodeSchema,
  detail: z.string(),
  hint: z.string().optional(),
  retryable: z.boolean(),
  request_id: z.string(),
  errors: z.array(FieldErrorSchema).optional(),
});
export type Problem = z.infer<typeof ProblemSchema>;

/** What crosses RPC and wire borders instead of a thrown class, whose fields Durable Object RPC would drop. */
export const FailureSchema = z.object({
  code: ErrorCodeSchema,
  detail: z.string(),
  retry_after_s: z.number().optional(),
  errors: z.array(FieldErrorSchema).optional(),
});
export type Failure = z.infer<typeof FailureSchema>;

export class SandbarError extends Error {
  readonly failure: Failure;
  constructor(code: ErrorCode, detail?: string, extra?: Partial<Failure>) {
    super(cut(detail ?? ERRORS[code].title, DETAIL_LIMIT_CHARS));
    this.name = "SandbarError";
    this.failure = { ...extra, code, detail: this.message };
  }
  get code(): ErrorCode {
    return this.failure.code;
  }
}

/** `code` is for what has none of its own. */
export function failureOf(error: unknown, code: ErrorCode): Failure {
  if (error instanceof SandbarError) return error.failure;
  return new SandbarError(code, error instanceof Error ? error.message : String(error)).failure;
}

export function toProblem(failure: Failure, requestId: string): Problem {
  const entry = ERRORS[failure.code];
  return {
    type: `/docs/errors#${failure.code}`,
    title: entry.title,
    status: entry.status,
    code: failure.code,
    detail: failure.detail,
    hint: entry.hint,
    retryable: entry.retryable,
    request_id: requestId,
    ...(failure.errors ? { errors: failure.errors } : {}),
  };
}
