/** @module Code in a session of its own, which begins with a snapshot if there is one, and of which one stays if asked for. */
import { type Cause, ERRORS, type Execution, newId, type RunOnce, type RunOnceAnswer } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { deleteSnapshot } from "../artifacts/blob-store.ts";
import { shownSnapshot } from "../db/snapshots.ts";
import type { Env } from "../env.ts";
import { requestWithoutValues } from "../network/secret-values.ts";
import { failureOf } from "../problem.ts";
import { sessionObject } from "../rpc.ts";
import { beginning } from "./origin.ts";
import { snapshotText, storeSnapshotText } from "./snapshot-text.ts";
import { takeSnapshot } from "./take.ts";

export interface RunOnceCaller {
  readonly tenant: string;
  readonly made_by: string;
}

/** `stopping` is what still goes on when the answer is there. */
export async function runOnce(
  env: Env,
  { tenant, made_by }: RunOnceCaller,
  cause: Cause,
  wanted: RunOnce,
  stopping: (work: Promise<unknown>) => void,
): Promise<RunOnceAnswer> {
  const { code, language, context, timeout_s, stdin, snapshot_bytes, keep, ttl_s, ...spec } = wanted;
  const id = newId("ses");
  const brought = snapshot_bytes && (await storeSnapshotText(env, tenant, id, snapshot_bytes));
  const session = sessionObject(env, tenant, id);
  try {
    const begun = await beginning(env, tenant, brought ? { ...spec, snapshot: brought } : spec);
    const { request, sealed } = await requestWithoutValues(env, tenant, begun.request);
    const { origin } = begun;
    const by = { created_by: made_by, cause };
    const input = { id, tenant, key: id, request, sealed_values: sealed, ...by, origin };
    const { restored } = unwrap(await session.create(input, true));
    const submission = {
      execution: newId("exe"),
      request: { code, ...defined({ language, context, timeout_s, stdin }) },
      idempotency_key: null,
      digest: "",
      ...by,
    };
    const record = unwrap(await session.run(submission));
    const answer: RunOnceAnswer = { execution: JSON.parse(record.json) as Execution };
    if (restored) answer.restored = restored;
    if (keep === undefined || keep === "nothing") return answer;
    try {
      return { ...answer, ...(await kept(env, tenant, id, keep, ttl_s)) };
    } catch (error) {
      // The code has run: a refusal would have it sent, and run, again.
      const { code, detail } = failureOf(error, "run once", id, cause.request);
      return { ...answer, keep_error: { code, detail, hint: ERRORS[code].hint } };
    }
  } finally {
    stopping(session.stop("run once").catch(() => {}));
    if (brought) await dropped(env, tenant, brought);
  }
}

async function kept(
  env: Env,
  tenant: string,
  session: string,
  keep: "snapshot" | "bytes",
  ttl_s: number | undefined,
): Promise<Pick<RunOnceAnswer, "snapshot" | "snapshot_bytes">> {
  const taken = await takeSnapshot(env, tenant, session, ttl_s === undefined ? {} : { ttl_s });
  if (keep === "snapshot") return { snapshot: shownSnapshot(taken) };
  try {
    return { snapshot_bytes: await snapshotText(env, taken) };
  } finally {
    await dropped(env, tenant, taken.id);
  }
}

/** The schedule deletes what is left when that fails. */
const dropped = (env: Env, tenant: string, snapshot: string) =>
  deleteSnapshot(env, tenant, snapshot).catch((error) => console.error("a snapshot stays", snapshot, error));

const defined = <T extends object>(fields: T) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
