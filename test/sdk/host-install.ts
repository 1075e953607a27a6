/** @module What becomes of a machine on which the packed daemon is installed, upgraded and uninstalled. */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, VERSION } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeSystemctl } from "../fixtures/fake-systemctl.ts";
import { docker, eventually, removeHost } from "../fixtures/stack.ts";
import { onTty } from "../fixtures/tty.ts";
import { useStack } from "../fixtures/use-stack.ts";

const MAIN = "agent-host/src/main.js";
const NEXT = `${VERSION.replace(/\d+$/, "")}99`;

interface Packed {
  /** The package as npm has installed it. */
  agentHost: () => string;
  /** The oldest Node that can install. */
  node: string;
}

export function hostInstallTests({ agentHost, node }: Packed): void {
  // npm unpacks some hundred megabytes for each release.
  describe("a machine on which the packed agent-host is installed", { timeout: 400_000 }, () => {
    const { stack, client } = useStack({ withoutAgent: true });
    const folder = mkdtempSync(join(tmpdir(), "sandbar-install-"));
    const root = join(folder, "root");
    const home = join(root, "var/lib/sandbar");
    const settings = join(root, "etc/sandbar-host.env");
    const unit = join(root, "etc/systemd/system/sandbar-host.service");
    let systemd: FakeSystemctl;
    let hostId = "";

    beforeAll(() => {
      mkdirSync(join(root, "etc"), { recursive: true });
      // What an operator has written there stays.
      // For packages of other versions, which are made here.
      symlinkSync(join(agentHost(), "../.."), join(folder, "node_modules"));
      writeFileSync(settings, "# ours\nSANDBAR_POOL_SIZE=0\n");
      systemd = new FakeSystemctl(folder, root);
    });
    afterAll(async () => {
      await systemd.close();
      await removeHost(hostId, home);
      rmSync(folder, { recursive: true, force: true });
    });

    const env = () => ({ ...process.env, PATH: `${systemd.bin}:${process.env.PATH}`, NODE_OPTIONS: "" });
    const words = (args: string[], from = agentHost()) => [join(from, MAIN), ...args, "--root", root];
    const agentHostCommand = (args: string[], from?: string) =>
      new Promise<{ status: number; output: string }>((resolve) => {
        execFile(
          node,
          words(args, from),
          { cwd: folder, env: env(), maxBuffer: 1 << 24 },
          (error, out, err) => resolve({ status: error ? Number(error.code) : 0, output: `${out}${err}` }),
        );
      });
    const files = () => readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
    const host = () => client.ok<Host>("GET", `/v1/hosts/${hostId}`);
    const launcher = (...args: string[]) =>
      new Promise<string>((resolve, reject) => {
        execFile(join(root, "opt/sandbar/agent-host"), args, (error, out) =>
          error ? reject(error) : resolve(out),
        );
      });

    it("shows what it would do, and does nothing of it", async () => {
      const before = files();
      const { status, output } = await agentHostCommand([
        ...[
          "install",
          "--url",
          stack.url,
          "--token",
          "sbe_unseen",
          "--name",
          "vps",
          "--capacity",
          "7",
          "--dry-run",
        ],
      ]);
      expect(status).toBe(0);
      for (const shown of [
        /^\$ npm install .*node-linux-\w+@24\./m,
        /^write .*sandbar-host\.env \(600\)\n {4}# ours\n {4}SANDBAR_POOL_SIZE=0\n/m,
        "    SANDBAR_MAX_SESSIONS=7",
        / join http\S+ - --name vps {3}# with the token/,
        "    RestartPreventExitStatus=2 3 4",
        "$ systemctl restart sandbar-host.service",
      ])
        expect(output).toMatch(shown);
      expect(output).not.toContain("sbe_unseen");
      expect(files()).toEqual(before);
    });

    it("becomes a host that runs sessions, with one unit, and the same line once more changes nothing", async () => {
      const { token } = await client.ok<{ token: string }>("POST", "/v1/hosts/enrollments");
      const line = ["install", "--url", stack.url, "--token", token, "--name", "vps", "--capacity", "7"];
      const { status, output } = await agentHostCommand(line);
      expect(output).toContain("This machine is the host vps");
      expect(status).toBe(0);
      hostId = JSON.parse(readFileSync(join(home, "host/identity.json"), "utf8")).host_id;
      expect(await host()).toMatchObject({ name: "vps", status: "online", version: VERSION });
      expect((await host()).capacity?.max_sessions).toBe(7);
      expect([...systemd.enabled]).toEqual(["sandbar-host.service"]);
      const session = await client.create();
      expect(await client.run(session.id, "print(6 * 7)")).toMatchObject({ stdout: "42\n" });
      const again = await agentHostCommand(line);
      expect(again).toMatchObject({ status: 0 });
      expect(await client.run(session.id, "print(7 * 6)")).toMatchObject({ stdout: "42\n" });
      expect(readdirSync(join(root, "opt/sandbar/releases"))).toHaveLength(1);
      expect((await client.ok<{ data: Host[] }>("GET", "/v1/hosts")).data).toHaveLength(1);
      await client.stop(session.id);
    });

    it("is looked at by its doctor", async () => {
      const well = await agentHostCommand(["doctor"]);
      expect(well.output).toMatch(/^✓ daemon: .* runs as \d+, with 0 sessions$/m);
      expect(well.output).toMatch(/^✓ clock: /m);
      expect(well.status).toBe(0);
      const found = JSON.parse(
        (await agentHostCommand(["doctor", "--json", "--url", "http://127.0.0.1:9"])).output,
      );
      expect(found).toContainEqual({
        check: "control plane",
        state: "fail",
        detail: expect.stringContaining("http://127.0.0.1:9 does not answer"),
        fix: expect.any(String),
      });
    });

    it("gets another version of the daemon while code runs, and keeps the old one when the new one is broken", async () => {
      const { id } = await client.create();
      await client.run(id, "x = 20");
      const waits = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.1)\nprint(x + 1)";
      const running = await client.start(id, waits, { timeout_s: 300 });
      const before = readlinkSync(join(root, "opt/sandbar/current"));

      const broken = packageOf(`${VERSION}-broken`, 'if (process.argv[2] === "run") process.exit(1);\n');
      const refused = await agentHostCommand(["upgrade"], broken);
      expect(refused.output).toContain("runs again");
      expect(refused.status).toBe(1);
      expect(readlinkSync(join(root, "opt/sandbar/current"))).toBe(before);
      await eventually("the old daemon is back", 30_000, async () => (await host()).status === "online");

      const { status, output } = await agentHostCommand(["upgrade"], packageOf(NEXT));
      expect(output).toMatch(new RegExp(`^${NEXT}-\\w+ runs, and has taken over 1 session\\.$`, "m"));
      expect(status).toBe(0);
      expect((await host()).version).toBe(NEXT);
      // The broken one is gone; the one before stays.
      expect(readdirSync(join(root, "opt/sandbar/releases"))).toHaveLength(2);
      await client.ok("PUT", `/v1/sessions/${id}/files?path=go`, "");
      expect(await client.finished(id, running.id)).toMatchObject({ status: "ok", stdout: "21\n" });
      expect(JSON.parse(await launcher("status"))).toMatchObject({ version: NEXT, sessions: [{ id }] });
    });

    it("is a host no more when that is meant", async () => {
      const nobody = await agentHostCommand(["uninstall"]);
      expect(nobody).toEqual({
        status: 1,
        output: "Nobody is there to be asked; --yes says that it is meant.\n",
      });
      const asked = onTty(words(["uninstall"]), { cwd: folder, env: env() }, [node]);
      await asked.shows(/Remove vps, with its sessions\? .* \[y\/N\]/);
      asked.type("n\n");
      expect(await asked.ended).toBe(1);
      expect(existsSync(unit)).toBe(true);

      const [session] = (await client.ok<{ data: { id: string }[] }>("GET", "/v1/sessions?status=ready"))
        .data;
      const { status, output } = await agentHostCommand(["uninstall", "--yes"]);
      expect(output).toContain("`sandbar hosts rm vps`");
      expect(status).toBe(0);
      expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${session!.id}`)).status).toBe(
        "stopped",
      );
      expect(
        await docker.listContainers({ all: true, filters: { label: [`sandbar.host=${hostId}`] } }),
      ).toEqual([]);
      expect(systemd.enabled.size).toBe(0);
      const left = files().filter(
        (file) => !/^(etc|opt|usr|var)(\/(systemd|system|sandbar|local|bin|lib))*$/.test(file),
      );
      expect(left).toEqual([]);
    });

    /** This package as another version, with something more in its main file. */
    function packageOf(version: string, more = ""): string {
      const copy = join(folder, version);
      cpSync(agentHost(), copy, { recursive: true });
      for (const [file, edit] of [
        [
          "package.json",
          (text: string) => text.replace(`"version": "${VERSION}"`, `"version": "${version}"`),
        ],
        ["shared/src/version.js", (text: string) => text.replace(`"${VERSION}"`, `"${version}"`)],
        [MAIN, (text: string) => text.replace(/^#!.*\n/, (line) => line + more)],
      ] as const)
        writeFileSync(join(copy, file), edit(readFileSync(join(copy, file), "utf8")));
      return copy;
    }
  });
}
