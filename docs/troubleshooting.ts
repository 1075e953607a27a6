/** @module `docs/troubleshooting.md`: the table of error codes, with what to look at when the hint is not enough. */
import { ERRORS, type ErrorCode } from "../shared/src/errors.ts";
import { wrapped } from "./wrapped.ts";

const ADVICE: Partial<Record<ErrorCode, string>> = {
  VALIDATION_FAILED:
    "`errors` lists every wrong field as `{path, message}`. Unknown fields are refused too, so a typing error in a name is found. [The reference](reference.md) has the fields of every route.",
  PATH_INVALID:
    "`..` in a relative path may not lead out of `/session`; for what is elsewhere in the sandbox give an absolute path. A name that is not UTF-8 goes into `path_b64` instead of `path` ([files](files.md)).",
  UNAUTHENTICATED:
    "`sandbar doctor` says which key is used, where it came from and whether the server takes it. A key can also have expired or been revoked: `sandbar keys list`. Keys of one Sandbar mean nothing to another.",
  ENROLLMENT_INVALID:
    "`sandbar hosts enroll` makes a new token; use it with `agent-host join` within 15 minutes.",
  FORBIDDEN:
    "Scopes are `agent` (sessions and all that is in them), `operator` (hosts, dataset sources, metrics, and nothing of a session) and `admin` (keys, and all of these). `sandbar keys create <name> --scopes agent` makes a key.",
  ORIGIN_NOT_ALLOWED:
    "A browser says which page asks. Pages of the server's own origin may, others only when they are listed ([MCP](mcp.md#safety)). Behind a proxy that ends TLS the server must be told its own origin ([console](console.md#behind-a-proxy)).",
  HOST_NAME_NOT_ALLOWED:
    "Whoever owns a name can point it at your machine, so plain HTTP is for addresses and `localhost` ([MCP](mcp.md#safety)). Behind a proxy that ends TLS, list the proxy's name.",
  IMAGE_NOT_ALLOWED:
    "On the host, `SANDBAR_ALLOWED_IMAGES=sandbar/*,registry.example.com/team/*` and a restart of agent-host; running sessions go on.",
  SOURCE_NOT_ALLOWED:
    "`POST /v1/dataset-sources` (operator scope) registers an upstream; a source with a private address needs `allow_private: true`. Paths of the host need `SANDBAR_IMPORT_DIRS`.",
  NOT_FOUND:
    "Sessions end by themselves: after `idle_ttl_s` without use and at `max_lifetime_s`. `GET /v1/sessions?key=…` says what became of yours. The key of another tenant gives 404 as well.",
  SESSION_KEY_CONFLICT:
    "All tools of one agent must ask for the same kind of session: give them the same `session` options (`makeSandboxTools` does), or delete the session and create it anew.",
  IDEMPOTENCY_CONFLICT:
    "A retry must send the same body. The SDKs make a key for each call; set one only when you want to find an execution again.",
  REQUEST_TIMEOUT:
    "A JSON body may pause for `BODY_IDLE_MS` (30 s) and must not come slower than 16 KiB/s; an upload may pause for 2 minutes. Nothing was done.",
  SESSION_NOT_READY:
    "Without `Prefer: respond-async` creating waits by itself. `GET /v1/sessions/:id/events` streams the progress.",
  DATASETS_DISABLED:
    "Access is fixed at creation ([datasets](datasets.md)): `NONE`, `LOCAL_RO` (the host's files at `/data`) or `API` (staged at `/session/data`).",
  SESSION_ENDED:
    "With the same `key` a new session takes its place; raise `idle_ttl_s` or `max_lifetime_s` when it ended too early. The LangGraph tools do that by themselves and tell the model.",
  PAYLOAD_TOO_LARGE:
    "One request may have `MAX_BODY_BYTES` (100 MB on Cloudflare, 5 GB on one machine); code and JSON less. Files go to `PUT …/files`.",
  CONTENT_LOST:
    "The artifact's record is there, its object in R2 (on one machine: its file below `$SANDBAR_HOME/state/r2`) is not, or is shorter than it was: deleted by hand, by a lifecycle rule, or lost with the power.",
  QUOTA_EXCEEDED:
    "Of sessions: `sandbar usage` shows what is taken and the [shares](tenants.md#shares). Of artifacts: `sandbar artifacts list` shows what is kept; their quotas are variables of the Worker ([artifacts](artifacts.md)).",
  IMAGE_UNSUPPORTED:
    "Start from `sandbar/python` (`FROM sandbar/python:latest`) when in doubt: it has all that is needed.",
  IMAGE_NOT_FOUND:
    "`docker images` on the host shows what it has; `node agent-host/setup/images.ts python node r` builds Sandbar's own.",
  EGRESS_UNAVAILABLE:
    "agent-host filters egress with the host's packet filter and must be allowed to change it (root, and iptables). See [operating](quickstart-operator.md#network).",
  DATASETS_UNAVAILABLE:
    "`LOCAL_RO` shows a folder of the host ([datasets](datasets.md)); each host that takes such sessions needs `DATASETS_HOST_RO`.",
  LANGUAGE_UNAVAILABLE:
    "Every image of Sandbar has python and bash; the Node image also has node, the R image r. The detail names what the session has.",
  DEPENDENCY_FAILED:
    "Installing needs the package index to be reachable from the host, not from the session. Check name and version there; `SANDBAR_INSTALL_TIMEOUT_MS` bounds the time.",
  DATASET_FAILED:
    "A list shows it as `FAILED` with the same `error`; ask again to retry. What was staged before stays until the new bytes are whole ([datasets](datasets.md)).",
  LIMIT_EXCEEDED:
    "Maxima are the host's: `SANDBAR_MAX_MEMORY_MB`, `_CPUS`, `_PIDS`, `_TMPFS_MB`, `_TIMEOUT_S` ([configuration](configuration.md)). `tmpfs_mb` may be at most half of `memory_mb`.",
  QUEUE_FULL:
    "Cells of one context run one after another. Contexts run side by side: `POST …/contexts`, then `context` in the execution.",
  RATE_LIMITED: "Both SDKs wait as long as `Retry-After` says and try again.",
  PROCESS_LIMIT:
    "An execution that carries it found no process left for a kernel. `ps -e` in a context that still runs shows what is there; threads count too.",
  SESSION_LIMIT:
    "`sandbar sessions list` shows them. Agents that never stop their sessions need a short `idle_ttl_s`. The maximum is `shares.sessions` of the [tenant](tenants.md#shares), or `MAX_SESSIONS_PER_TENANT`.",
  INTERNAL:
    "The logs have the `request_id`: `.sandbar/logs/` on one machine, `wrangler tail` on Cloudflare. When everything that writes answers it, see whether the disk of `SANDBAR_HOME` is full; all goes on where it was when there is room again.",
  SESSION_START_FAILED:
    "Most often Docker itself: `docker info` and `agent-host status` on the host, then its log. A busy machine may need a longer `SANDBAR_START_TIMEOUT_MS`.",
  PORT_CLOSED:
    "`GET …/processes` says whether the server runs and what it printed. Servers that bind to another interface than 127.0.0.1 or 0.0.0.0 are not found.",
  NO_HOST_AVAILABLE:
    "`sandbar hosts list` says why: no host, not `online`, cordoned, or as many sessions as `SANDBAR_MAX_SESSIONS` allows. A session with a volume must go to the volume's host.",
  HOST_UNREACHABLE:
    "The control plane has heard nothing for 45 s. Is agent-host running (`agent-host status`), and can the machine reach `SANDBAR_URL`? After 5 minutes the host is `lost` and its sessions with it.",
  STORAGE_FULL:
    "TMPFS lives in memory and counts against `memory_mb`. BIND uses the host's disk; volumes have a size of their own.",
  HOST_TIMEOUT:
    "The host is overloaded or the session's guest is stuck: `sandbar top`, and load and memory of the machine.",
  EXECUTION_TIMEOUT:
    "The code is interrupted first and killed when it does not listen; `state` says what survived. Processes that it had started end with it. Servers and trainings belong in `POST …/processes`, which has no time limit.",
  KERNEL_DIED:
    "`os._exit`, a crash in native code, or a signal. The files are still there; load what you need again.",
  CONTAINER_DIED:
    "Someone removed the container, or Docker was restarted without live-restore. `journalctl -u docker` on the host.",
  OOM_KILLED:
    'TMPFS files count too: `limits: {memory_mb: 4096}` for data that is large in memory, `storage: "BIND"` for files that are large. Read large tables in pieces.',
  HOST_LOST: "The code never started, so running it again is safe.",
  OUTCOME_UNKNOWN:
    "The one case in which Sandbar cannot say whether code ran to its end. Make effects on the outside repeatable, or check for them first.",
};

export function troubleshooting(): string {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  const lines = [
    "# Troubleshooting by error code",
    "",
    "Written from [`shared/src/errors.ts`](../shared/src/errors.ts) by `npm test -- test/docs/examples-docs.test.ts -u`.",
    "",
    "`sandbar doctor` checks the way from your machine to a running cell, and is the first thing to try when nothing works.",
    "",
    "Every refusal is `application/problem+json` with one of these codes in `code`, a `detail` about this very case, a `hint`, and a `request_id`.",
    "",
    "An execution that did not end well carries a code in `error.name`, and `state` says whether variables and files survived. When variables were gone before the code began, `state.reason` says why.",
    "",
    "| status | codes |",
    "|---|---|",
    ...[...byStatus]
      .toSorted(([a], [b]) => a - b)
      .map(
        ([status, codes]) =>
          `| ${status} | ${codes.map((code) => `[${code}](#${code.toLowerCase()})`).join(", ")} |`,
      ),
  ];
  for (const code of codes) {
    const { status, title, retryable, hint } = ERRORS[code];
    lines.push(
      "",
      `## ${code}`,
      "",
      `${title}. Status ${status}; ${retryable ? "may succeed later" : "the same call will fail again"}.`,
    );
    // Markdown would take <api key> for HTML.
    lines.push("", hint.replaceAll("<", "\\<"), ...(ADVICE[code] ? ["", ADVICE[code]] : []));
  }
  return wrapped(`${lines.join("\n")}\n`);
}
