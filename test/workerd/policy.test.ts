import type { AuditEntry, Problem, Session, TenantPolicy } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import { type FakeDaemon, onlyHost, until } from "./fake-daemon.ts";

let host: FakeDaemon;
let operator: Client;
beforeEach(async () => {
  host = await onlyHost();
  operator = await Client.of("ops", ["operator"]);
});

const put = (tenant: string, policy: object) =>
  operator.call<TenantPolicy & Problem>("PUT", `/v1/policies/${encodeURIComponent(tenant)}`, policy);
const create = (client: Client, request: object) =>
  client.call<Omit<Session, "status"> & Problem>("POST", "/v1/sessions", request);
const capable = (daemon: FakeDaemon, over: Partial<FakeDaemon["capacity"]>) => {
  daemon.capacity = { ...daemon.capacity, ...over };
  daemon.send({ t: "capacity", capacity: daemon.capacity });
  return until(async () => {
    const { body } = await operator.call<{ data: { capacity: object }[] }>("GET", "/v1/hosts");
    return JSON.stringify(body.data[0]?.capacity) === JSON.stringify(daemon.capacity);
  });
};

describe("a tenant's policy", () => {
  it("refuses what it does not allow, by name, and leaves nothing behind", async () => {
    const acme = await Client.of("acme");
    await put("acme", {
      allow: {
        egress: false,
        bind: false,
        volumes: false,
        dependencies: false,
        images: false,
        local_datasets: false,
      },
      engines: ["wasm"],
      max: { memory_mb: 512, timeout_s: 10, max_lifetime_s: 600 },
    });
    for (const [request, words] of [
      [{ network: "egress" }, "network"],
      [{ network: { allow: ["a.example.org"] } }, "network by name"],
      [{ storage: "BIND" }, "BIND"],
      [{ volumes: [{ name: "a", path: "/mnt/a" }] }, "volumes"],
      [{ dependencies: { requests: "" } }, "dependencies"],
      [{ image: "mine" }, "images"],
      [{ datasets: { access: "LOCAL_RO" } }, "LOCAL_RO"],
      [{ engine: "container" }, "engine container"],
      [{ limits: { memory_mb: 1024 } }, "limits.memory_mb may be at most 512"],
      [{ limits: { timeout_s: 11 } }, "limits.timeout_s may be at most 10"],
      [{ max_lifetime_s: 601 }, "max_lifetime_s may be at most 600"],
    ] as const)
      expect(await create(acme, request)).toMatchObject({
        status: 403,
        body: { code: "FORBIDDEN_BY_POLICY", detail: expect.stringContaining(words) },
      });
    expect((await acme.call<Problem>("POST", "/v1/volumes", { name: "v" })).body.code).toBe(
      "FORBIDDEN_BY_POLICY",
    );
    expect((await acme.call<{ data: [] }>("GET", "/v1/sessions")).body.data).toEqual([]);
    const other = await Client.of("not-acme");
    expect((await create(other, { storage: "BIND" })).status).toBe(201);
  });

  it("bounds what a session gets that asks for nothing, and how long its code may run", async () => {
    const small = await Client.of("small");
    await put("small", { max: { memory_mb: 128, cpus: 0.5, timeout_s: 5, idle_ttl_s: 60 } });
    const session = await small.session();
    expect(session.limits).toMatchObject({ memory_mb: 128, cpus: 0.5, timeout_s: 5, tmpfs_mb: 64 });
    expect(await small.execute(session.id, "1", {}, { timeout_s: 6 })).toMatchObject({
      status: 403,
      body: { code: "FORBIDDEN_BY_POLICY", detail: "timeout_s may be at most 5 in this tenant" },
    });
    expect((await small.execute(session.id, "1", {}, { timeout_s: 5 })).status).toBe(200);
  });

  it("keeps imports to the tenant's folders, as the host is told", async () => {
    const data = await Client.of("imports");
    const session = await data.session();
    const bring = () =>
      data.call<{ data: { error: { code: string } }[] }>("POST", `/v1/sessions/${session.id}/import`, {
        files: [{ source: "/srv/a/x", destination: "x" }],
      });
    await put("imports", { allow: { imports: false } });
    expect((await bring()).body.data[0]!.error.code).toBe("FORBIDDEN_BY_POLICY");
    await put("imports", { allow: { imports: ["/srv/a"] } });
    const asked = bring();
    const call = await host.waitFor("call", ({ method }) => method === "files.import");
    expect(call.params).toMatchObject({ source: "/srv/a/x", below: ["/srv/a"] });
    host.send({ t: "answer", id: call.id, failure: { code: "NOT_FOUND", detail: "none" } });
    expect((await asked).body.data[0]!.error.code).toBe("NOT_FOUND");
  });

  it("is set by operators only, over what holds for all, and every change is in the audit log", async () => {
    const tenant = await Client.of("merged");
    expect((await tenant.call<Problem>("PUT", "/v1/policies/merged", {})).body.code).toBe("FORBIDDEN");
    expect((await tenant.call<Problem>("GET", "/v1/policies/merged")).body.code).toBe("FORBIDDEN");
    await put("*", { allow: { egress: false, bind: false }, shares: { sessions: 7 } });
    const set = await put("merged", { allow: { egress: true }, shares: { memory_mb: 4096 } });
    expect(set.body).toMatchObject({
      tenant: "merged",
      policy: { allow: { egress: true }, shares: { memory_mb: 4096 } },
      effective: {
        allow: { egress: true, bind: false, volumes: true },
        shares: { sessions: 7, memory_mb: 4096, cpus: null, host_percent: 75 },
      },
    });
    expect((await tenant.call("GET", "/v1/policy")).body).toEqual(set.body.effective);
    const listed = await operator.call<{ data: TenantPolicy[]; next_cursor: string }>(
      "GET",
      "/v1/policies?limit=1",
    );
    expect(listed.body.data.map((one) => one.tenant)).toEqual(["*"]);
    expect((await operator.call("DELETE", "/v1/policies/merged")).status).toBe(204);
    expect((await operator.call("DELETE", "/v1/policies/merged")).status).toBe(404);
    expect((await operator.call("DELETE", "/v1/policies/*")).status).toBe(204);
    await expect
      .poll(async () => {
        const { body } = await operator.call<{ data: AuditEntry[] }>(
          "GET",
          "/v1/audit?action=policy.&target=merged",
        );
        return body.data.map(({ action, result }) => `${action} ${result}`);
      })
      .toEqual(expect.arrayContaining(["policy.delete ok", "policy.change ok", "policy.change FORBIDDEN"]));
  });

  it("that makes no sense is refused with the field that is wrong", async () => {
    for (const policy of [
      { allow: { egres: false } },
      { allow: { imports: ["../x"] } },
      { allow: { imports: ["/srv/../etc"] } },
      { engines: [] },
      { shares: { host_percent: 0 } },
      { shares: { sessions: -1 } },
      { max: { memory_mb: 1 } },
      { more: 1 },
    ])
      expect((await put("wrong", policy)).body.code).toBe("VALIDATION_FAILED");
    expect((await put("No Tenant", {})).body.code).toBe("VALIDATION_FAILED");
  });
});

describe("a tenant's share", () => {
  it("bounds sessions, memory and CPUs together, and usage shows it", async () => {
    const some = await Client.of("sharing");
    await put("sharing", { shares: { sessions: 3, memory_mb: 1000, cpus: 2 } });
    const limits = { memory_mb: 400, cpus: 0.5 };
    const first = await some.session({ limits });
    await some.session({ limits });
    expect((await create(some, { limits })).body).toMatchObject({
      code: "QUOTA_EXCEEDED",
      detail: "memory_mb: the tenant's sessions have 800 of 1000, and this one needs 400",
    });
    expect((await create(some, { limits: { memory_mb: 128, cpus: 1.5 } })).body).toMatchObject({
      code: "QUOTA_EXCEEDED",
      detail: "cpus: the tenant's sessions have 1 of 2, and this one needs 1.5",
    });
    await some.session({ limits: { memory_mb: 128, cpus: 1 } });
    expect((await create(some, { limits: { memory_mb: 64, cpus: 0.1 } })).body.code).toBe("SESSION_LIMIT");
    expect((await some.call("GET", "/v1/usage")).body).toMatchObject({
      reserved: { memory_mb: 928, cpus: 2 },
      limits: { live_sessions: 3, memory_mb: 1000, cpus: 2, host_percent: 75 },
    });
    await some.call("DELETE", `/v1/sessions/${first.id}`);
    await until(async () => (await create(some, { limits })).status === 201);
  });

  it("holds however many ask at once", async () => {
    const racing = await Client.of("racing");
    await put("racing", { shares: { memory_mb: 500 } });
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => create(racing, { limits: { memory_mb: 100 } })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    expect(answers.filter(({ body }) => body.code === "QUOTA_EXCEEDED")).toHaveLength(7);
  });

  it("gives the next free place to who has less and waits, not to who asks faster", async () => {
    await capable(host, { max_sessions: 3 });
    await put("*", { shares: { host_percent: 100 } });
    const fast = await Client.of("fast");
    const slow = await Client.of("slow");
    const held = [await fast.session(), await fast.session(), await fast.session()];
    expect((await create(slow, {})).body.code).toBe("NO_HOST_AVAILABLE");
    await fast.call("DELETE", `/v1/sessions/${held[0]!.id}`);
    await until(
      async () =>
        (await operator.call<{ data: { sessions: number }[] }>("GET", "/v1/hosts")).body.data[0]!.sessions ===
        2,
    );
    expect((await create(fast, {})).body).toMatchObject({
      code: "NO_HOST_AVAILABLE",
      detail: expect.stringContaining("tenants that have less"),
    });
    await slow.session();
    expect((await create(fast, {})).body.detail).toMatch(/^Every host is full: \d+ of \d+ sessions/);
    await operator.call("DELETE", "/v1/policies/*");
  });

  it("leaves a part of every host to others, unless the policy says otherwise", async () => {
    await capable(host, { max_sessions: 4 });
    const greedy = await Client.of("greedy");
    const modest = await Client.of("modest");
    for (let i = 0; i < 3; i++) await greedy.session();
    expect((await create(greedy, {})).body).toMatchObject({
      code: "QUOTA_EXCEEDED",
      detail: expect.stringContaining("75 %"),
    });
    await modest.session();
    expect((await create(modest, {})).body.code).toBe("NO_HOST_AVAILABLE");
    await put("greedy", { shares: { host_percent: 100 } });
    expect((await create(greedy, {})).body.code).toBe("NO_HOST_AVAILABLE");
  });

  it("bounds volumes by count and by what they may hold, however many are made at once", async () => {
    const keeper = await Client.of("keeper");
    await put("keeper", { shares: { volumes: 3, volume_mb: 20_000 } });
    const make = (name: string, size_mb?: number) =>
      keeper.call<Problem>("POST", "/v1/volumes", { name, size_mb });
    const answers = await Promise.all(["a", "b", "c", "d", "e"].map((name) => make(name, 100)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    for (const { status, body } of answers)
      if (status !== 201)
        expect(body).toMatchObject({
          code: "QUOTA_EXCEEDED",
          detail: "volumes: this tenant has 3, and may have 3",
        });
    await put("keeper", { shares: { volumes: null, volume_mb: 10_600 } });
    // One without a size may become as large as any.
    const mounting = {
      volumes: [
        { name: "f", path: "/mnt/f" },
        { name: "g", path: "/mnt/g" },
      ],
    };
    expect((await create(keeper, mounting)).body).toMatchObject({
      code: "QUOTA_EXCEEDED",
      detail: expect.stringMatching(/^volume_mb: .* hold 10540 MB, and with 10240 for g .* than 10600$/),
    });
    expect((await make("h", 10_301)).body.code).toBe("QUOTA_EXCEEDED");
    expect((await make("h", 10_300)).status).toBe(201);
    expect((await keeper.call("GET", "/v1/usage")).body).toMatchObject({
      volumes: { count: 4, size_mb: 10_600 },
      limits: { volumes: null, volume_mb: 10_600 },
    });
    const known = answers.findIndex(({ status }) => status === 201);
    await keeper.session({ volumes: [{ name: "abcde"[known], path: "/mnt/known" }] });
  });

  it("ends a day's egress when it is used up, whatever a host has told before", async () => {
    const chatty = await Client.of("chatty");
    await put("chatty", { shares: { egress_mb_per_day: 1 } });
    const { id } = await chatty.session({ network: { allow: ["files.example.org"] } });
    const usage = async () =>
      (await chatty.call<{ egress: { bytes_today: number } }>("GET", "/v1/usage")).body.egress.bytes_today;
    const tell = (since: string, bytes: number) =>
      host.send({ t: "network", session: id, connections: [], dropped: 0, carried: { since, bytes } });
    tell("boot-1", 400_000);
    tell("boot-1", 400_000);
    tell("boot-1", 500_000);
    await until(async () => (await usage()) === 500_000);
    // A daemon that began anew counts from nothing.
    tell("boot-2", 100_000);
    await until(async () => (await usage()) === 600_000);
    expect(host.frames.some((frame) => frame.t === "call" && frame.method === "network.hold")).toBe(false);
    tell("boot-2", 600_000);
    const held = await host.waitFor("call", ({ method }) => method === "network.hold");
    expect(held.session).toBe(id);
    expect(held.params).toMatchObject({ reason: expect.stringContaining("egress_mb_per_day, 1 MB") });
    expect((held.params as { until: number }).until).toBeGreaterThan(Date.now());
    for (const network of ["egress", { allow: ["files.example.org"] }])
      expect((await create(chatty, { network })).body).toMatchObject({
        code: "QUOTA_EXCEEDED",
        detail: expect.stringContaining("egress_mb_per_day"),
      });
    expect((await create(chatty, {})).status).toBe(201);
    expect((await chatty.call("GET", "/v1/usage")).body).toMatchObject({
      egress: { bytes_today: 1_100_000 },
      limits: { egress_mb_per_day: 1 },
    });
    const { body } = await chatty.call<{ data: { egress_bytes: number }[] }>("GET", "/v1/usage/series");
    expect(body.data.reduce((sum, { egress_bytes }) => sum + egress_bytes, 0)).toBe(1_100_000);
    await put("chatty", { shares: { egress_mb_per_day: 10 } });
    expect((await create(chatty, { network: { allow: ["files.example.org"] } })).status).toBe(201);
  });

  it("places nothing on a host whose disk is nearly full, and says why", async () => {
    await capable(host, { refuses: "the disk of /srv has less than 1024 MB left" });
    const late = await Client.of("late");
    expect((await create(late, {})).body).toMatchObject({
      code: "NO_HOST_AVAILABLE",
      detail: "No host takes new sessions: the disk of /srv has less than 1024 MB left",
    });
    const { refuses: _, ...open } = host.capacity;
    host.capacity = open;
    host.send({ t: "capacity", capacity: open });
    await until(async () => (await create(late, {})).status === 201);
  });
});
