import type { Problem, Session } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import { type FakeDaemon, onlyHost } from "./fake-daemon.ts";

let daemon: FakeDaemon;
let client: Client;
beforeEach(async () => {
  daemon = await onlyHost();
  client = await Client.of("acme");
});

describe("a session key", () => {
  it("means one session, however many ask for it at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => client.call<Session>("POST", "/v1/sessions", { key: "shared" })),
    );
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(49);
    expect(daemon.commands.filter(({ command }) => command.type === "session.create")).toHaveLength(1);
  });

  it("with another specification is a conflict that names the fields", async () => {
    await client.session({ key: "spec", env: { A: "1" }, limits: { memory_mb: 256 } });
    const same = await client.call<Session>("POST", "/v1/sessions", {
      key: "spec",
      limits: { memory_mb: 256 },
    });
    expect(same.status).toBe(200);
    const other = await client.call<Problem>("POST", "/v1/sessions", {
      key: "spec",
      env: { A: "2" },
      limits: { memory_mb: 512 },
    });
    expect(other).toMatchObject({ status: 409, body: { code: "SESSION_KEY_CONFLICT" } });
    expect(other.body.detail).toContain("limits.memory_mb");
    expect(other.body.detail).toContain("env");
  });

  it("is free again when its session has ended", async () => {
    const first = await client.session({ key: "again" });
    await client.call("DELETE", `/v1/sessions/${first.id}`);
    const second = await client.call<Session>("POST", "/v1/sessions", { key: "again" });
    expect(second.status).toBe(201);
    expect(second.body.id).not.toBe(first.id);
  });

  it("is free again when its session has died", async () => {
    const first = await client.session({ key: "died" });
    daemon.report(first.id, {
      state: "died",
      error: { name: "CONTAINER_DIED", value: "gone", traceback: "" },
    });
    await daemon.waitFor("session.ack");
    const now = await client.call<Session>("GET", `/v1/sessions/${first.id}`);
    expect(now.body).toMatchObject({ status: "failed", error: { code: "CONTAINER_DIED", detail: "gone" } });
    expect((await client.session({ key: "died" })).id).not.toBe(first.id);
  });

  it("that was never given is the session's id", async () => {
    const session = await client.session();
    expect(session.key).toBe(session.id);
    const again = await client.call<Session>("POST", "/v1/sessions", { key: session.id });
    expect(again).toMatchObject({ status: 200, body: { id: session.id } });
  });
});
