/**
 * What operators watch over time. All of it is kept anyway, by the fleet and the tenants' objects: nothing is counted
 * for this. Asking costs one call to each tenant, so an answer is good for some seconds.
 *
 * @module
 */
import { type Host, HostStatusSchema, VERSION } from "@sandbar/shared";
import { tenantsWithKeys } from "../db/keys.ts";
import type { Env } from "../env.ts";
import { fleetObject, tenantObject } from "../rpc.ts";
import type { UsageTotals } from "../tenant/usage-buckets.ts";
import { histogramOf } from "./latency-histogram.ts";
import { PrometheusText, type Sample } from "./prometheus-text.ts";
import { Recent } from "./recent.ts";

/** Tenants that have series of their own; Prometheus pays for each. */
const TENANT_LIMIT = 200;
const GOOD_MS = 5_000;
const MB = 1024 * 1024;

interface TenantFigures extends UsageTotals {
  readonly tenant: string;
}

const recent = new Recent<string>(GOOD_MS);

export const figures = (env: Env): Promise<string> => recent.get(() => collect(env));

async function collect(env: Env): Promise<string> {
  const fleet = fleetObject(env);
  const [hosts, placed, known] = await Promise.all([
    fleet.hosts(),
    fleet.reservationsByTenant(),
    tenantsWithKeys(env.DB),
  ]);
  // In an order that stays, so that counters do not come and go.
  const all = [...new Set([...known, ...placed.map(({ tenant }) => tenant)])].sort();
  const shown = all.slice(0, TENANT_LIMIT);
  const tenants = await Promise.all(
    shown.map(async (tenant) => ({ tenant, ...(await tenantObject(env, tenant).totals()) })),
  );
  const text = new PrometheusText();
  text.gauge("sandbar_build_info", "Which control plane this is", [[{ version: VERSION }, 1]]);
  writeHosts(text, hosts);
  const sessions = new Map(placed.map(({ tenant, sessions }) => [tenant, sessions]));
  text.gauge(
    "sandbar_tenant_sessions",
    "Live sessions of a tenant",
    shown.map((tenant) => [{ tenant }, sessions.get(tenant) ?? 0]),
  );
  text.gauge("sandbar_tenants", "Tenants that have keys or live sessions", [[{}, all.length]]);
  text.gauge("sandbar_tenants_left_out", "Those of them that have no figures here", [
    [{}, all.length - shown.length],
  ]);
  writeTenants(text, tenants);
  return String(text);
}

function writeHosts(text: PrometheusText, hosts: readonly Host[]): void {
  const each = (name: string, help: string, value: (host: Host) => number | null) =>
    text.gauge(
      `sandbar_host_${name}`,
      help,
      hosts.flatMap((host): Sample[] => {
        const found = value(host);
        return found === null ? [] : [[{ id: host.id }, found]];
      }),
    );
  text.gauge(
    "sandbar_hosts",
    "Hosts by status",
    HostStatusSchema.options.map((status) => [
      { status },
      hosts.filter((one) => one.status === status).length,
    ]),
  );
  text.gauge(
    "sandbar_host_up",
    "1 when the host is online",
    hosts.map(({ id, name, status }) => [{ id, name }, status === "online" ? 1 : 0]),
  );
  each("accepts_sessions", "1 when a session could be placed on the host, were there room", (host) =>
    host.status === "online" && !host.cordoned && host.capacity?.refuses === undefined ? 1 : 0,
  );
  each("sessions", "Sessions on a host", ({ sessions }) => sessions);
  each("sessions_max", "Sessions that a host may have", ({ capacity }) => capacity?.max_sessions ?? null);
  each("memory_reserved_bytes", "What its sessions may use", (host) => host.memory_reserved_mb * MB);
  each("memory_bytes", "Memory of the host's machine", ({ capacity }) => capacity && capacity.memory_mb * MB);
  each("last_seen_timestamp_seconds", "When the host last said something, as the fleet has heard", (host) =>
    host.last_seen_at === null ? null : Date.parse(host.last_seen_at) / 1000,
  );
  text.counter(
    "sandbar_host_links_total",
    "Connections of the host's daemon that were welcomed",
    hosts.map(({ id, epoch }) => [{ id }, epoch]),
  );
}

function writeTenants(text: PrometheusText, tenants: readonly TenantFigures[]): void {
  const each = (name: string, help: string, value: (tenant: TenantFigures) => number) =>
    text.counter(
      name,
      help,
      tenants.map((one) => [{ tenant: one.tenant }, value(one)]),
    );
  text.gauge(
    "sandbar_tenant_executions_open",
    "Executions that were accepted and have not ended",
    tenants.map(({ tenant, open }) => [{ tenant }, open]),
  );
  text.counter(
    "sandbar_executions_total",
    "Executions that have ended, by error code; without one they ended well",
    tenants.flatMap(({ tenant, executions, errors }): Sample[] => {
      const failed = Object.entries(errors);
      const well = executions - failed.reduce((sum, [, count]) => sum + count, 0);
      return [
        [{ tenant, code: "" }, well],
        ...failed.map(([code, count]): Sample => [{ tenant, code }, count]),
      ];
    }),
  );
  each("sandbar_sessions_created_total", "Sessions that were made", ({ created }) => created);
  each("sandbar_artifacts_total", "Artifacts that were stored", ({ artifacts }) => artifacts);
  each("sandbar_artifact_bytes_total", "Bytes of these artifacts", ({ artifact_bytes }) => artifact_bytes);
  text.histogram(
    "sandbar_execution_seconds",
    "How long code ran, within 5 %, without its time in the queue",
    histogramOf(tenants.map(({ latencies }) => latencies)),
  );
}
