import { execFileSync } from "node:child_process";
import type { Session } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeRegistry } from "../fixtures/registry.ts";
import { docker } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const PLAIN = "sandbar-test/plain-python:1";
const NONE = "sandbar-test/no-python:1";
const OLD = "sandbar-test/old-python:1";
const BROKEN = "sandbar-test/broken-python:1";
const IMAGES: Record<string, string> = {
  // Debian's Python without IPython and pip.
  [PLAIN]: `FROM sandbar/node:latest
    USER 0
    RUN rm -rf /usr/local/bin/node /usr/local/bin/npm
    ENTRYPOINT ["/bin/false"]
    HEALTHCHECK CMD false
    VOLUME ["/var/store", "/tmp/", "/session/deep", "/usr/share/doc"]
    USER nobody`,
  [NONE]: "FROM sandbar/base:trixie\nENV ANY=thing",
  [OLD]: `FROM sandbar/base:trixie
    RUN printf '#!/bin/sh\\necho {\\\\"version\\\\":[3,8,1],\\\\"languages\\\\":[\\\\"python\\\\"]}\\n' > /usr/bin/python3 && chmod 755 /usr/bin/python3`,
  [BROKEN]: `FROM sandbar/base:trixie
    RUN printf '#!/bin/sh\\necho no such luck >&2; exit 3\\n' > /usr/bin/python3 && chmod 755 /usr/bin/python3`,
};

let registry: FakeRegistry;

beforeAll(async () => {
  for (const [tag, dockerfile] of Object.entries(IMAGES))
    execFileSync("docker", ["build", "--network", "host", "-q", "-t", tag, "-"], {
      input: dockerfile,
      stdio: ["pipe", "pipe", "pipe"],
    });
  registry = await FakeRegistry.start();
}, 240_000);
afterAll(async () => {
  await registry?.close();
  for (const tag of Object.keys(IMAGES))
    await docker
      .getImage(tag)
      .remove({ force: true })
      .catch(() => {});
});
const { stack, client } = useStack(() => ({
  agentEnv: {
    SANDBAR_ALLOWED_IMAGES: `sandbar/*,sandbar-test/*,127.0.0.1:9/*,${registry.address}/*`,
    SANDBAR_PULL_TIMEOUT_MS: "3000",
  },
}));

const refusal = async (spec: Record<string, unknown>) => {
  const { body } = await client.problem("POST", "/v1/sessions", spec);
  return { status: body.status, code: body.code, detail: body.detail };
};

describe("an image of the caller's own", () => {
  it("with nothing but Python runs cells, keeps variables and has bash", async () => {
    const session = await client.create({ image: PLAIN });
    expect(session.image).toBe(PLAIN);
    await client.run(session.id, "x = 20");
    expect((await client.run(session.id, "print('hi'); x * 2 + 2")).text).toBe("42");
    expect((await client.run(session.id, "1/0")).error?.name).toBe("ZeroDivisionError");
    expect((await client.run(session.id, "import IPython")).error?.name).toBe("ModuleNotFoundError");
    expect((await client.run(session.id, "whoami; echo ~", { language: "bash" })).stdout).toBe(
      "sandbox\n/session/.home\n",
    );
    await client.stop(session.id);
    const bash = await client.create({ image: PLAIN, runtime: "bash" });
    expect((await client.run(bash.id, "echo $((6 * 7))")).stdout).toBe("42\n");
    await client.stop(bash.id);
  });

  it("makes no storage without a limit by its VOLUMEs", async () => {
    const session = await client.create({ image: PLAIN, limits: { tmpfs_mb: 32 } });
    const write = (folder: string) =>
      client.run(session.id, `open('${folder}/big', 'wb').write(b'x' * 20_000_000)`);
    expect((await write("/var/store")).error).toBeNull();
    for (const folder of ["/session/deep", "/usr/share/doc", "/tmp"])
      expect((await write(folder)).error?.value).toContain("No space left");
    const { Mounts } = await (await stack.containerOf(session.id)).inspect();
    expect(Mounts.filter(({ Type }) => Type !== "bind")).toEqual([]);
    await client.stop(session.id);
  });

  it("can be named by its digest, and is then that image and no other", async () => {
    const image = `${registry.address}/tiny/image@${registry.digest}`;
    expect(await refusal({ image })).toMatchObject({
      code: "IMAGE_UNSUPPORTED",
      detail: `${image} has no python3`,
    });
    const other = `${registry.address}/tiny/image@sha256:${"0".repeat(64)}`;
    expect(await refusal({ image: other })).toMatchObject({ code: "IMAGE_NOT_FOUND" });
    await docker.getImage(image).remove({ force: true });
  });

  it("is looked into once", async () => {
    const session = await client.create({ image: PLAIN });
    const steps: string[] = [];
    for await (const { event, data } of client.events(`/v1/sessions/${session.id}/events`)) {
      if (event === "progress") steps.push(data.step);
      if (event === "status" && data.status !== "creating") break;
    }
    expect(steps).not.toContain("probe");
    await client.stop(session.id);
  });

  it("without what a session needs is refused with what was found", async () => {
    expect(await refusal({ image: NONE })).toEqual({
      status: 422,
      code: "IMAGE_UNSUPPORTED",
      detail: `${NONE} has no python3`,
    });
    expect(await refusal({ image: OLD })).toMatchObject({
      code: "IMAGE_UNSUPPORTED",
      detail: `${OLD} has Python 3.8.1`,
    });
    expect(await refusal({ image: BROKEN })).toMatchObject({
      code: "IMAGE_UNSUPPORTED",
      detail: expect.stringContaining("no such luck"),
    });
    expect(await refusal({ image: PLAIN, runtime: "node" })).toMatchObject({
      code: "IMAGE_UNSUPPORTED",
      detail: `${PLAIN} has python, bash, but no node`,
    });
  });

  it("that the operator does not allow is refused, whether it is there or not", async () => {
    expect(await refusal({ image: "debian:trixie" })).toMatchObject({
      status: 403,
      code: "IMAGE_NOT_ALLOWED",
    });
    expect(await refusal({ image: "example.org/sandbar/python" })).toMatchObject({
      code: "IMAGE_NOT_ALLOWED",
    });
  });

  it("that cannot be had is refused; names of our own are never asked for elsewhere", async () => {
    expect(await refusal({ image: "sandbar/not-built" })).toMatchObject({
      status: 422,
      code: "IMAGE_NOT_FOUND",
      detail: expect.stringContaining("never pulled"),
    });
    expect(await refusal({ image: "127.0.0.1:9/nothing/here" })).toMatchObject({ code: "IMAGE_NOT_FOUND" });
  });

  it("is pulled when it is missing, with progress, once for all who want it", async () => {
    const image = `${registry.address}/tiny/image`;
    const created = await Promise.all(
      [1, 2].map(() => client.ok<Session>("POST", "/v1/sessions", { image }, { prefer: "respond-async" })),
    );
    const steps: string[] = [];
    for (const { id } of created) {
      let error: unknown;
      for await (const { event, data } of client.events(`/v1/sessions/${id}/events`)) {
        if (event === "progress") steps.push(`${data.step} ${data.detail}`);
        if (event === "status" && data.status === "failed") error = data.error;
      }
      expect(error).toMatchObject({ code: "IMAGE_UNSUPPORTED", detail: `${image} has no python3` });
    }
    expect(steps).toContain(`pull ${image}`);
    expect(registry.asked.filter((path) => path.endsWith("/manifests/latest")).length).toBe(1);
    await docker.getImage(image).remove();
  });

  it("whose registry stalls is given up", async () => {
    expect(await refusal({ image: `${registry.address}/stalls/image:1` })).toMatchObject({
      code: "IMAGE_NOT_FOUND",
      detail: expect.stringContaining("took longer than 3 s"),
    });
  });

  it("without pip cannot have dependencies, and says so", async () => {
    expect(await refusal({ image: PLAIN, dependencies: { six: "" } })).toMatchObject({
      code: "DEPENDENCY_FAILED",
      detail: expect.stringContaining("no pip"),
    });
  });

  it("leaves no container behind", async () => {
    expect(
      await docker.listContainers({
        all: true,
        filters: { label: [`sandbar.host=${stack.hostId}`, "sandbar.temporary"] },
      }),
    ).toEqual([]);
  });
});
