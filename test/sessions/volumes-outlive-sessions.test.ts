import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Volume } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { useStack } from "../fixtures/use-stack.ts";

const { stack, client } = useStack({ agentEnv: { SANDBAR_MAX_VOLUME_MB: "64" } });

const mounted = (name: string, path = "/mnt/data") => ({ volumes: [{ name, path }] });
const volume = (name: string) => client.ok<Volume>("GET", `/v1/volumes/${name}`);

describe("a volume", () => {
  it("is made by its first session and outlives it, and the daemon", async () => {
    const first = await client.create(mounted("models"));
    await client.run(first.id, "open('/mnt/data/kept.txt', 'w').write('kept')");
    expect(await volume("models")).toMatchObject({ name: "models", host_id: stack.hostId, size_mb: null });
    await client.stop(first.id);
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    const second = await client.create({ ...mounted("models", "/srv/models"), network: "none" });
    expect((await client.run(second.id, "open('/srv/models/kept.txt').read()")).text).toBe("'kept'");
    await client.stop(second.id);
  });

  it("is shared by the sessions of a tenant and invisible to another", async () => {
    const [a, b] = await Promise.all([client.create(mounted("shared")), client.create(mounted("shared"))]);
    await client.run(a.id, "open('/mnt/data/from-a', 'w').write('hello')");
    expect((await client.run(b.id, "open('/mnt/data/from-a').read()")).text).toBe("'hello'");
    const stranger = await stack.clientOf("stranger");
    expect((await stranger.problem("GET", "/v1/volumes/shared")).status).toBe(404);
    expect((await stranger.ok<{ data: unknown[] }>("GET", "/v1/volumes")).data).toEqual([]);
    const theirs = await stranger.create(mounted("shared"));
    expect((await stranger.run(theirs.id, "import os; os.listdir('/mnt/data')")).text).toBe("[]");
    await Promise.all([client.stop(a.id), client.stop(b.id), stranger.stop(theirs.id)]);
  });

  it("holds what it was made for and no more", async () => {
    const made = await client.call<Volume>("POST", "/v1/volumes", { name: "small", size_mb: 16 });
    expect(made).toMatchObject({ status: 201, body: { name: "small", host_id: null, size_mb: 16, size: 0 } });
    expect((await client.call("POST", "/v1/volumes", { name: "small" })).status).toBe(200);
    expect((await client.problem("POST", "/v1/volumes", { name: "small", size_mb: 17 })).body.code).toBe(
      "VOLUME_EXISTS",
    );
    const session = await client.create(mounted("small"));
    const full = await client.run(session.id, "open('/mnt/data/big', 'wb').write(b'x' * 32_000_000)");
    expect(full.error?.value).toContain("No space left");
    expect((await volume("small")).size).toBeGreaterThan(1_000_000);
    await client.stop(session.id);
    await client.ok("POST", "/v1/volumes", { name: "huge", size_mb: 1000 });
    expect((await client.problem("POST", "/v1/sessions", mounted("huge"))).body.code).toBe("LIMIT_EXCEEDED");
  });

  it("is deleted with its files, but not under a session", async () => {
    const session = await client.create(mounted("scratch"));
    const refused = await client.problem("DELETE", "/v1/volumes/scratch");
    expect(refused).toMatchObject({ status: 409, body: { code: "VOLUME_IN_USE" } });
    await client.stop(session.id);
    const folder = join(stack.home, "volumes/default/scratch");
    expect(existsSync(folder)).toBe(true);
    const deadline = Date.now() + 30_000;
    let deleted = await client.call("DELETE", "/v1/volumes/scratch");
    // The session's end reaches D1 a moment after its answer.
    while (deleted.status === 409 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      deleted = await client.call("DELETE", "/v1/volumes/scratch");
    }
    expect(deleted.status).toBe(204);
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(`${folder}.ext4`)).toBe(false);
    expect((await client.problem("DELETE", "/v1/volumes/scratch")).status).toBe(404);
  });

  it("is found by its id too", async () => {
    const { id } = await client.ok<Volume>("POST", "/v1/volumes", { name: "by-id" });
    expect(await volume(id)).toMatchObject({ id, name: "by-id", size: 0 });
    expect((await client.call("DELETE", `/v1/volumes/${id}`)).status).toBe(204);
    expect((await client.problem("GET", "/v1/volumes/by-id")).status).toBe(404);
  });

  it("is listed", async () => {
    const { data } = await client.ok<{ data: Volume[] }>("GET", "/v1/volumes");
    expect(data.map(({ name }) => name).sort()).toEqual(["huge", "models", "shared", "small"]);
  });

  it.each([
    "/session",
    "/session/x",
    "/opt/sandbar/guest",
    "/run/sandbar",
    "/proc",
    "/",
    "/etc",
    "/mnt/../etc",
    "relative",
    "/mnt//x",
    "/mnt/x:ro",
  ])("is not mounted at %s", async (path) => {
    const { body } = await client.problem("POST", "/v1/sessions", mounted("models", path));
    expect(body.code).toBe("VALIDATION_FAILED");
  });

  it("keeps its sessions on its host, and says so when that host is gone", async () => {
    await client.ok("POST", `/v1/hosts/${stack.hostId}/cordon`);
    const { body } = await client.problem("POST", "/v1/sessions", mounted("models"));
    expect(body.code).toBe("NO_HOST_AVAILABLE");
    expect(body.detail).toContain(stack.hostId);
    await client.ok("POST", `/v1/hosts/${stack.hostId}/uncordon`);
  });
});
