import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { useBrowser } from "../fixtures/browser.ts";
import { eventually, REPO, removeHost } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("the rooms of operators", () => {
  const { stack, client } = useStack();
  const browser = useBrowser(stack);

  it("add a host, which turns green when it joins, drain it and remove it", async () => {
    const name = `second-${Date.now() % 10_000}`;
    const page = await browser.open("/hosts");
    await page.getByRole("button", { name: "Add a host" }).click();
    const dialog = page.getByRole("dialog", { name: "Add a host" });
    const command = await dialog.locator("pre").textContent();
    const [, url, token] = /join (\S+) (\S+)/.exec(command!)!;
    expect(url).toBe(stack.url);

    const home = mkdtempSync(join(tmpdir(), "sandbar-test-"));
    const env = { ...process.env, SANDBAR_HOME: home, SANDBAR_URL: stack.url, SANDBAR_POOL_SIZE: "0" };
    const main = join(REPO, "agent-host/src/main.ts");
    execFileSync(process.execPath, [main, "join", url!, token!, "--name", name], { env, stdio: "pipe" });
    const hostId: string = JSON.parse(readFileSync(join(home, "host/identity.json"), "utf8")).host_id;
    const daemon = spawn("setpriv", ["--pdeathsig", "KILL", process.execPath, main, "run"], {
      env,
      stdio: "ignore",
    });
    onTestFinished(async () => {
      await ended(daemon);
      await removeHost(hostId, home);
    });
    await dialog.getByText(`${name} is online and takes sessions.`).waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();

    // What is made now can only go to the new one.
    await client.ok("POST", `/v1/hosts/${stack.hostId}/cordon`);
    const { id } = await client.create();
    await client.ok("POST", `/v1/hosts/${stack.hostId}/uncordon`);
    await page
      .getByRole("row", { name: new RegExp(name) })
      .getByText("1 of")
      .waitFor();
    await page.getByRole("button", { name: `Actions for ${name}` }).click();
    await page.getByRole("menuitem", { name: "Drain…" }).click();
    await page.getByRole("button", { name: "Drain host" }).click();
    await page
      .getByRole("row", { name: new RegExp(name) })
      .getByText("drained")
      .waitFor();
    expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${id}`)).status).toBe("stopped");

    await page.getByRole("button", { name: `Actions for ${name}` }).click();
    await page.getByRole("menuitem", { name: "Remove…" }).click();
    await page.getByRole("button", { name: "Remove host" }).click();
    await page.getByRole("row", { name: new RegExp(name) }).waitFor({ state: "detached" });
    await eventually("the daemon ended", 15_000, () => daemon.exitCode !== null);
    expect(daemon.exitCode).toBe(4);
  });

  it("make a key that works, whose secret is shown once, and revoke it", async () => {
    const page = await browser.open("/keys");
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("nightly");
    await page.getByRole("textbox", { name: "Tenant" }).fill("acme");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const secret = await page.getByRole("dialog").locator("pre").first().textContent();
    const nightly = stack.client(secret!);
    expect((await nightly.ok<{ tenant: string }>("GET", "/v1/me")).tenant).toBe("acme");
    await page.getByRole("button", { name: "I have copied it" }).click();
    await expect.poll(() => page.content()).not.toContain(secret);

    await eventually("its use is seen", 10_000, async () => {
      await page.reload();
      return page.getByRole("row", { name: /nightly.*(just now|ago)/ }).isVisible();
    });
    await page.getByRole("button", { name: "Revoke nightly" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByRole("row", { name: /nightly/ }).waitFor({ state: "detached" });
    expect((await nightly.call("GET", "/v1/me")).status).toBe(401);
  });

  it("are not there for a tenant's key, neither in the navigation nor by their address", async () => {
    const { secret } = await client.ok<{ secret: string }>("POST", "/v1/keys", {
      name: "tenant's key",
      tenant: "acme",
      scopes: ["agent"],
    });
    const page = await browser.open("/usage", { key: secret });
    await page.getByRole("region", { name: "Quotas" }).getByText("Bytes of artifacts").waitFor();
    const rooms = page.getByRole("navigation").getByRole("link");
    await expect.poll(() => rooms.allInnerTexts()).toContain("Artifacts");
    for (const room of ["Hosts", "Keys"]) expect(await rooms.allInnerTexts()).not.toContain(room);
    expect(await page.getByRole("textbox", { name: "Tenant" }).count()).toBe(0);
    await page.goto(`${stack.url}/hosts`);
    await page.getByText("Hosts are for keys with the scope operator").waitFor();
    await page.goto(`${stack.url}/keys`);
    await page.getByText("Keys are for keys with the scope admin").waitFor();
    await page.goto(`${stack.url}/datasets`);
    await page.getByText("No session has datasets").waitFor();
    expect(await page.getByText("Sources").count()).toBe(0);
  });
});

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await exit;
}
