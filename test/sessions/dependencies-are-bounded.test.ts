import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Session } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { docker, eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const WAIT = 120_000;
const { stack, client } = useStack({ agentEnv: { SANDBAR_DEPS_CACHE_MB: "1" } });

const folder = () => join(stack.home, "deps/default");
const temporary = () =>
  docker.listContainers({
    all: true,
    filters: { label: [`sandbar.host=${stack.hostId}`, "sandbar.temporary"] },
  });

describe("installed dependencies", () => {
  it(
    "that need more room than there is are refused, and leave less on the disk than before",
    async () => {
      const old = join(folder(), "c".repeat(32));
      mkdirSync(join(old, "lib"), { recursive: true });
      writeFileSync(join(old, "lib/big"), Buffer.alloc(2_000_000, 1));
      utimesSync(old, new Date(0), new Date(0));
      const { body } = await client.problem("POST", "/v1/sessions", {
        dependencies: { setuptools: "68.0.0" },
      });
      expect(body.code).toBe("DEPENDENCY_FAILED");
      expect(body.detail).toMatch(/^setuptools: it takes more than the 1 MB/);
      await eventually("room to be made", 10_000, () => readdirSync(folder()).length === 0);
    },
    WAIT,
  );

  it(
    "make room for new ones, the least recently used first, unless a session has them",
    async () => {
      const user = await client.create({ dependencies: { six: "" } });
      const [used] = readdirSync(folder()).filter((name) => !name.startsWith("."));
      const long = new Date(Date.now() - 3600_000);
      for (const name of ["a".repeat(32), "b".repeat(32)]) {
        const lib = join(folder(), name, "lib");
        mkdirSync(lib, { recursive: true });
        writeFileSync(join(lib, "big"), Buffer.alloc(2_000_000, 1));
        utimesSync(join(folder(), name), long, long);
      }
      utimesSync(join(folder(), used!), new Date(0), new Date(0));
      const other = await client.create({ dependencies: { iniconfig: "" } });
      await eventually("the old ones to go", 10_000, () => !existsSync(join(folder(), "b".repeat(32))));
      expect(existsSync(join(folder(), "a".repeat(32)))).toBe(false);
      expect(existsSync(join(folder(), used!))).toBe(true);
      expect((await client.run(user.id, "import six; six.PY3")).text).toBe("True");
      await Promise.all([client.stop(user.id), client.stop(other.id)]);
    },
    WAIT,
  );

  it(
    "come to be although the daemon was killed meanwhile, and leave nothing half done",
    async () => {
      const created = await client.ok<Session>(
        "POST",
        "/v1/sessions",
        { dependencies: { toml: "" } },
        { prefer: "respond-async" },
      );
      await eventually("an installation", 20_000, async () => (await temporary()).length > 0);
      await stack.killAgent("SIGKILL");
      await stack.startAgent();
      await eventually("the session", 60_000, async () => {
        const { status } = await client.ok<Session>("GET", `/v1/sessions/${created.id}`);
        return status === "ready";
      });
      expect((await client.run(created.id, "import toml; toml.loads('a = 1')")).text).toBe("{'a': 1}");
      expect(await temporary()).toEqual([]);
      expect(readdirSync(folder()).filter((name) => name.endsWith(".part"))).toEqual([]);
      await client.stop(created.id);
    },
    WAIT,
  );

  it(
    "do not hold up the end of a session that wanted them",
    async () => {
      const created = await client.ok<Session>(
        "POST",
        "/v1/sessions",
        { dependencies: { tabulate: "" } },
        { prefer: "respond-async" },
      );
      await eventually("an installation", 20_000, async () => (await temporary()).length > 0);
      expect((await client.stop(created.id)).status).toBe(204);
      await eventually("the end", 2000, async () => {
        const { status } = await client.ok<Session>("GET", `/v1/sessions/${created.id}`);
        return status === "stopped";
      });
      await eventually("the installation to end", 60_000, async () => (await temporary()).length === 0);
    },
    WAIT,
  );
});
