/** `npm start` where no Docker engine answers and none may be started: the whole product, in WebAssembly. */
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { listGuests } from "@sandbar/agent-host/src/wasm/guest-process.ts";
import { expect, it, onTestFinished } from "vitest";
import { end, eventually, freePort, REPO } from "../fixtures/stack.ts";
import { lendSnapshots } from "../fixtures/wasm-snapshot.ts";

const run = promisify(execFile);

it("npm start without Docker says so, serves, and its line to paste works; npm run down leaves nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-no-docker-"));
  // Longer than what a socket's path may have, together with what is below it.
  const home = join(
    folder,
    "of-somebody",
    "whose-folders-have-names-of-several-words",
    "sandbar",
    ".sandbar",
  );
  lendSnapshots(home);
  const port = await freePort();
  const env = {
    ...process.env,
    DOCKER_HOST: `unix://${folder}/no-engine.sock`,
    SANDBAR_HOME: home,
    SANDBAR_PORT: String(port),
    SANDBAR_POOL_SIZE: "0",
  };
  let output = "";
  const product = spawn("setpriv", ["--pdeathsig", "TERM", "npm", "start"], {
    cwd: REPO,
    env,
    detached: true,
  });
  onTestFinished(async () => {
    await end(product, "SIGTERM");
    await run("npm", ["run", "down"], { cwd: REPO, env });
    rmSync(folder, { recursive: true, force: true });
  });
  for (const stream of [product.stdout, product.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  await eventually("it serves", 180_000, () => {
    if (product.exitCode !== null) throw new Error(output);
    return /Try it:\n\n.*\n/.test(output);
  });
  expect(output).toMatch(/no containers here: No Docker Engine answers at DOCKER_HOST=/);
  expect(output).toMatch(/Python in WebAssembly; bash, Node, R, .* need containers/);
  const [, line] = /Try it:\n\n(.*)\n/.exec(output)!;
  const { stdout } = await run("bash", ["-c", line!], { cwd: REPO, timeout: 60_000 });
  expect(JSON.parse(stdout)).toMatchObject({ status: "ok", stdout: "42\n" });

  await run("npm", ["run", "down"], { cwd: REPO, env });
  expect(await listGuests(home)).toEqual([]);
  expect(existsSync(join(home, "boxes"))).toBe(false);
}, 300_000);
