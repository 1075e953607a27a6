import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Session } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { docker } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const WAIT = 240_000;
let repository: string;

beforeAll(async () => {
  repository = makeRepository();
}, 180_000);
afterAll(async () => {
  rmSync(repository, { recursive: true });
});
const { stack, client } = useStack(() => ({ agentEnv: { SANDBAR_R_REPOS: `file://${repository}` } }));

/** A CRAN-like repository with one source package of two versions, the older one in the archive. */
function makeRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-r-repo-"));
  const contrib = join(folder, "src/contrib");
  mkdirSync(join(contrib, "Archive/tinysand"), { recursive: true });
  for (const version of ["1.0.0", "1.1.0"]) {
    const source = join(folder, version, "tinysand");
    mkdirSync(join(source, "R"), { recursive: true });
    writeFileSync(
      join(source, "DESCRIPTION"),
      `Package: tinysand\nVersion: ${version}\nTitle: Tiny\nDescription: A tiny package.\nAuthor: Nobody\nMaintainer: Nobody <nobody@example.org>\nLicense: MIT\n`,
    );
    writeFileSync(join(source, "NAMESPACE"), "export(grains)\n");
    writeFileSync(join(source, "R/grains.R"), `grains <- function() "${version}"\n`);
  }
  chmodSync(folder, 0o755);
  const build = `
    cd /tmp && R CMD build /repo/1.0.0/tinysand && R CMD build /repo/1.1.0/tinysand
    cp tinysand_1.0.0.tar.gz /repo/src/contrib/Archive/tinysand/ && cp tinysand_1.1.0.tar.gz /repo/src/contrib/
    Rscript -e 'tools::write_PACKAGES("/repo/src/contrib", type = "source")'`;
  execFileSync(
    "docker",
    ["run", "--rm", "--user", "0", "-v", `${folder}:/repo`, "sandbar/r:latest", "sh", "-ec", build],
    {
      stdio: "pipe",
    },
  );
  return folder;
}

async function progress(session: string): Promise<{ step: string; detail: string }[]> {
  const seen: { step: string; detail: string }[] = [];
  const stop = new AbortController();
  for await (const { event, data } of client.events(`/v1/sessions/${session}/events`, {
    signal: stop.signal,
  })) {
    if (event === "progress") seen.push(data);
    if (event === "status" && data.status !== "creating") break;
  }
  return seen;
}

describe("Python dependencies", () => {
  let first: Session;

  it(
    "are there, although the session itself has no network",
    async () => {
      first = await client.create({ dependencies: { six: "1.16.0" } });
      expect(first).toMatchObject({ dependencies: { six: "1.16.0" } });
      expect(first.network).toBe("none");
      expect((await client.run(first.id, "import six; six.__version__")).text).toBe("'1.16.0'");
      const bash = await client.run(first.id, "python3 -c 'import six; print(six.__version__)'", {
        language: "bash",
      });
      expect(bash.stdout).toBe("1.16.0\n");
      expect((await progress(first.id)).map(({ step }) => step)).toContain("dependencies");
      expect((await client.run(first.id, "open(six.__file__, 'a')")).error?.name).toBe("PermissionError");
    },
    WAIT,
  );

  it(
    "are installed once for all sessions of a tenant, and once more for another tenant",
    async () => {
      const second = await client.create({ dependencies: { six: "1.16.0" } });
      expect(await progress(second.id)).toContainEqual({ step: "dependencies", detail: "installed before" });
      expect((await client.run(second.id, "import six; six.__version__")).text).toBe("'1.16.0'");
      const stranger = await stack.clientOf("stranger");
      const theirs = await stranger.create({ dependencies: { six: "1.16.0" } });
      expect((await stranger.run(theirs.id, "import six; six.__version__")).text).toBe("'1.16.0'");
      expect(readdirSync(join(stack.home, "deps")).sort()).toEqual(["default", "stranger"]);
      await Promise.all([client.stop(second.id), client.stop(first.id), stranger.stop(theirs.id)]);
    },
    WAIT,
  );

  it(
    "of sessions created at once are installed once",
    async () => {
      const before = readdirSync(join(stack.home, "deps/default")).length;
      const sessions = await Promise.all(
        [1, 2, 3].map(() => client.create({ dependencies: { iniconfig: "" } })),
      );
      for (const { id } of sessions)
        expect((await client.run(id, "import iniconfig; iniconfig.IniConfig.__name__")).text).toBe(
          "'IniConfig'",
        );
      expect(readdirSync(join(stack.home, "deps/default")).length).toBe(before + 1);
      await Promise.all(sessions.map(({ id }) => client.stop(id)));
    },
    WAIT,
  );

  it.each([
    [{ six: "", "sandbar-no-such-package-xyz": "" }, "sandbar-no-such-package-xyz"],
    [{ six: "99.99.99" }, "six"],
    [{ six: "not a version" }, "six"],
    [{ "../../etc": "" }, null],
    [{ "user/repo": "" }, "user/repo"],
  ])(
    "that cannot be had are named: %j",
    async (dependencies, guilty) => {
      const { status, body } = await client.problem("POST", "/v1/sessions", { dependencies });
      if (guilty === null) {
        expect(body).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
        return;
      }
      expect({ status, code: body.code }).toEqual({ status: 422, code: "DEPENDENCY_FAILED" });
      expect(body.detail.startsWith(`${guilty}: `)).toBe(true);
      expect(body.detail.length).toBeLessThan(2000);
    },
    WAIT,
  );

  it("leave no container and no half-made folder behind", async () => {
    const left = await docker.listContainers({
      all: true,
      filters: { label: [`sandbar.host=${stack.hostId}`, "sandbar.temporary"] },
    });
    expect(left).toEqual([]);
    expect(readdirSync(join(stack.home, "deps/default")).filter((name) => name.endsWith(".part"))).toEqual(
      [],
    );
  });
});

describe("Node dependencies", () => {
  it(
    "are found by require and by import, of CommonJS and of modules",
    async () => {
      const session = await client.create({
        runtime: "node",
        dependencies: { "is-number": "7.0.0", "is-plain-obj": "4.1.0" },
      });
      expect((await client.run(session.id, "require('is-number')(5)")).text).toBe("true");
      expect((await client.run(session.id, "import isNumber from 'is-number'; isNumber('x')")).text).toBe(
        "false",
      );
      expect((await client.run(session.id, "(await import('is-plain-obj')).default({})")).text).toBe("true");
      await client.stop(session.id);
    },
    WAIT,
  );

  it(
    "that do not exist are named",
    async () => {
      const { body } = await client.problem("POST", "/v1/sessions", {
        runtime: "node",
        dependencies: { "is-number": "123.0.0" },
      });
      expect(body.code).toBe("DEPENDENCY_FAILED");
      expect(body.detail).toMatch(/^is-number: /);
      expect(body.detail).toMatch(/no matching version/i);
    },
    WAIT,
  );
});

describe("R dependencies", () => {
  it(
    "come from the operator's repositories, current or archived",
    async () => {
      const current = await client.create({ runtime: "r", dependencies: { tinysand: "" } });
      expect((await client.run(current.id, "tinysand::grains()")).text).toContain("1.1.0");
      const archived = await client.create({ runtime: "r", dependencies: { tinysand: "1.0.0" } });
      expect((await client.run(archived.id, "library(tinysand); grains()")).text).toContain("1.0.0");
      await Promise.all([client.stop(current.id), client.stop(archived.id)]);
    },
    WAIT,
  );

  it(
    "that do not exist are named",
    async () => {
      for (const dependencies of [{ nosuchsand: "" }, { tinysand: "9.9.9" }]) {
        const { body } = await client.problem("POST", "/v1/sessions", { runtime: "r", dependencies });
        expect(body.code).toBe("DEPENDENCY_FAILED");
        expect(body.detail.startsWith(`${Object.keys(dependencies)[0]}: `)).toBe(true);
      }
    },
    WAIT,
  );
});
