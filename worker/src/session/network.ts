/** @module A session's rules: what its host says of them, and other rules while it runs. */
import { type NetworkRules, newId, type SessionNetwork } from "@sandbar/shared";
import { type Answer, ok, type Refusal, refuse } from "../answer.ts";
import { findStanding } from "../db/policies.ts";
import type { Env } from "../env.ts";
import type { SealedValues } from "../network/secret-values.ts";
import { refusalByPolicy } from "../policy/session-policy.ts";
import { hostObject, tenantObject } from "../rpc.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Records, SessionRecord } from "./record.ts";
import { rulesOf } from "./spec.ts";

/** All bytes since its host began to count. */
export interface Carried {
  readonly since: string;
  readonly bytes: number;
}

export class SessionNetworks {
  readonly #env: Env;
  readonly #records: Records;
  readonly #outgoing: Outgoing;

  constructor(env: Env, records: Records, outgoing: Outgoing) {
    this.#env = env;
    this.#records = records;
    this.#outgoing = outgoing;
  }

  async look({ id, host_id, spec }: SessionRecord): Promise<Answer<SessionNetwork>> {
    if (!spec.rules) return fixed();
    const answer = await hostObject(this.#env, host_id).call(id, "network", {});
    if ("failure" in answer) return answer;
    const { allow, secrets = [] } = this.#records.session?.spec.rules ?? spec.rules;
    return ok({ allow, secrets, use: answer.value.use });
  }

  /** Counted for its tenant; when that has had its share, the host connects nothing more for a while. */
  async carried({ id, tenant, host_id, carried: before }: SessionRecord, carried: Carried): Promise<void> {
    const bytes = before?.since === carried.since ? carried.bytes - before.bytes : carried.bytes;
    if (bytes <= 0) return;
    const spent = await tenantObject(this.#env, tenant).carry(tenant, bytes);
    this.#records.update({ carried });
    if (!spent) return;
    const { until, reason } = spent;
    // Not awaited: what the host says next shall not wait for its own answer. With the next bytes it is asked again.
    hostObject(this.#env, host_id)
      .call(id, "network.hold", { until, reason })
      .catch((error) => console.error("could not hold a session's network", id, error));
  }

  /** They hold on the host when this answers: commands and questions reach it in their order. */
  async change(
    { tenant, spec }: SessionRecord,
    wanted: NetworkRules,
    sealed_values: SealedValues,
  ): Promise<Answer<SessionNetwork>> {
    if (!spec.rules) return fixed();
    const { policy } = await findStanding(this.#env.DB, tenant);
    const opens = wanted.allow.length > 0 || (wanted.secrets ?? []).length > 0;
    const forbidden = opens ? refusalByPolicy(policy, {}, ["network_rules"]) : null;
    if (forbidden) return refuse("FORBIDDEN_BY_POLICY", forbidden);
    const { spec: before, sealed_values: sealedBefore } = this.#records.session!;
    const rules = rulesOf(wanted, before.rules!.version + 1);
    this.#records.update({ spec: { ...before, rules }, sealed_values, dirty: true });
    const sent = await this.#outgoing.send(
      { command: { type: "session.network", rules }, dedupe: `session.network:${newId("req")}` },
      { refusable: true },
    );
    if ("failure" in sent) {
      const now = this.#records.session!.spec;
      // Unless others came after.
      if (now.rules?.version === rules.version)
        this.#records.update({ spec: { ...now, rules: before.rules }, sealed_values: sealedBefore });
      return sent;
    }
    return this.look(this.#records.session!);
  }
}

function fixed(): Refusal {
  return refuse("NETWORK_FIXED", "The session was not created with rules");
}
