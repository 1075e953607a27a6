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
    const [, url, token] = /agent-host install --url (\S+) --token (\S+)/.exec(command!)!;
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
    const first = page.getByRole("row").filter({ hasNotText: name }).filter({ hasText: "online" });
    await first.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: "Cordon" }).click();
    await first.getByText("cordoned").waitFor();
    const { id } = await client.create();
    await first.getByRole("button", { name: /^Actions for/ }).click();
    await page.getByRole("menuitem", { name: "Uncordon" }).click();
    await first.getByText("cordoned").waitFor({ state: "detached" });
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
      await page.getByRole("row", { name: /nightly/ }).waitFor();
      return page.getByRole("row", { name: /nightly.*(just now|ago)/ }).isVisible();
    });
    await page.getByRole("button", { name: "Revoke nightly" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    // What lies behind a dialog has no role.
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("row", { name: /nightly/ }).waitFor({ state: "detached" });
    expect((await nightly.call("GET", "/v1/me")).status).toBe(401);
  });

  it("lead to a session from any room by its name, and stop several at once", async () => {
    const [first, second] = [
      await client.create({ key: "alpha-1" }),
      await client.create({ key: "alpha-2" }),
    ];
    const page = await browser.open("/keys");
    await page.getByRole("row", { name: /first admin key/ }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByPlaceholder("Type a command").fill("alpha-2");
    await page.getByRole("option", { name: /alpha-2/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/sessions/${second.id}`);

    await page.goto(`${stack.url}/sessions?q=alpha`);
    await page.getByText("2 sessions", { exact: true }).waitFor();
    await page.getByRole("checkbox", { name: "Choose all" }).click();
    await page.getByRole("button", { name: "Stop 2", exact: true }).click();
    await page.getByRole("button", { name: "Stop 2 sessions" }).click();
    await page.getByText("No session matches").waitFor();
    for (const { id } of [first, second])
      expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${id}`)).status).toMatch(/^stopp/);
  });

  it("stage datasets, say their state and version, and keep one as an artifact", async () => {
    const { id } = await client.create({ key: "with-data", datasets: { access: "API" } });
    const lake = `lake-${Date.now()}`;
    const page = await browser.open("/datasets");
    await page.getByRole("button", { name: "Add a source" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill(lake);
    await page.getByRole("textbox", { name: "URL" }).fill("https://data.example.com/{id}.parquet");
    await page.getByRole("textbox", { name: "Secret headers" }).fill("X-Token: hunter2");
    await page.getByRole("button", { name: "Add source" }).click();
    const source = page.getByRole("row", { name: new RegExp(`${lake}.*data.example.com`) });
    await source.waitFor();
    expect(await page.content()).not.toContain("hunter2");

    await page.getByRole("button", { name: "Stage a dataset" }).click();
    const form = page.getByRole("dialog");
    await form.getByRole("textbox", { name: "Id" }).fill("prices.csv");
    await form.getByRole("radio", { name: "A file" }).click();
    const buffer = Buffer.from("item,price\nbread,3\n");
    await form
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "p.csv", mimeType: "text/csv", buffer });
    await form.getByRole("textbox", { name: "Version" }).fill("of-november");
    await form.getByRole("button", { name: "Stage", exact: true }).click();
    const row = page.getByRole("row", { name: /prices\.csv.*loaded.*with-data.*of-november/ });
    await row.waitFor();
    expect((await client.run(id, "print(open('data/prices.csv').read())")).stdout).toContain("bread,3");

    await page.getByRole("button", { name: "Actions for prices.csv" }).click();
    await page.getByRole("menuitem", { name: "Keep as artifact" }).click();
    await page.getByText("Kept as an artifact").first().waitFor();
    await page.getByRole("button", { name: "Stage a dataset" }).click();
    await form.getByRole("textbox", { name: "Id" }).fill("again.csv");
    await form.getByRole("radio", { name: "An artifact" }).click();
    const kept = await form.locator("option").getAttribute("value", { timeout: 30_000 });
    await form.getByRole("combobox", { name: "Artifact" }).fill(kept!);
    await form.getByRole("button", { name: "Stage", exact: true }).click();
    await page.getByRole("row", { name: /again\.csv.*loaded/ }).waitFor();

    await page.getByRole("button", { name: "Actions for prices.csv" }).click();
    await page.getByRole("menuitem", { name: "Take out…" }).click();
    await page.getByRole("button", { name: "Take out", exact: true }).click();
    await form.waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    await page.getByRole("button", { name: `Remove ${lake}` }).click();
    await page.getByRole("button", { name: "Remove source" }).click();
    await form.waitFor({ state: "detached" });
    await source.waitFor({ state: "detached" });
    await client.stop(id);
  });

  it("tell who did what, find it by whom and by how it ended, and tell a tenant only of itself", async () => {
    const made = await client.ok<{ id: string; secret: string }>("POST", "/v1/keys", {
      name: "curious",
      tenant: "acme",
      scopes: ["agent"],
    });
    expect((await stack.client(made.secret).call("GET", "/v1/hosts")).status).toBe(403);
    const page = await browser.open("/audit");
    const line = page.getByRole("row", { name: /GET \/v1\/hosts.*curious.*acme.*FORBIDDEN/ });
    await line.waitFor();
    await page.getByRole("row", { name: new RegExp(`key.create.*${made.id}`) }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Others with this target" }).click();
    await line.waitFor({ state: "hidden" });
    await page.getByRole("row", { name: new RegExp(`key.create.*${made.id}`) }).waitFor();
    await page.getByRole("textbox", { name: "Search the audit log" }).fill(made.id);
    await page.keyboard.press("Enter");
    await page.getByRole("radio", { name: "Refused" }).click();
    await line.waitFor();

    const theirs = await browser.open("/audit", { key: made.secret });
    await theirs.getByRole("row", { name: /console.sign-in/ }).waitFor();
    expect(await theirs.getByRole("row", { name: /key.create/ }).count()).toBe(0);
  });

  it("say what a tenant may have, which holds from then on, and take it back", async () => {
    const tenant = `tied-${Date.now()}`;
    const { secret } = await client.ok<{ secret: string }>("POST", "/v1/keys", {
      name: tenant,
      tenant,
      scopes: ["agent"],
    });
    const theirs = stack.client(secret);
    const page = await browser.open("/policies");
    const dialog = page.getByRole("dialog");
    await page.getByRole("button", { name: "Set a policy" }).first().click();
    await dialog.getByRole("textbox", { name: "Tenant" }).fill(tenant);
    await dialog.getByRole("combobox", { name: "Packages" }).click();
    await page.getByRole("option", { name: "no", exact: true }).click();
    await dialog.getByRole("textbox", { name: "Sessions" }).fill("a few");
    await dialog.getByRole("button", { name: "Set policy" }).click();
    await dialog.getByText("A number, please.").waitFor();
    await dialog.getByRole("textbox", { name: "Sessions" }).fill("3");
    await dialog.getByRole("button", { name: "Set policy" }).click();
    const row = page.getByRole("row", { name: new RegExp(`${tenant}.*no dependencies; 3 sessions in all`) });
    await row.waitFor();
    await dialog.waitFor({ state: "detached" });
    const refused = await theirs.call("POST", "/v1/sessions", { dependencies: { humanize: "" } });
    expect(refused.body).toMatchObject({ code: "FORBIDDEN_BY_POLICY" });
    const usage = await browser.open("/usage", { key: secret });
    await usage.getByRole("region", { name: "Quotas" }).getByText("of 3", { exact: true }).waitFor();

    await page.getByRole("button", { name: `Take back the policy of ${tenant}` }).click();
    await page.getByRole("button", { name: "Take back", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await row.waitFor({ state: "detached" });
    expect(await theirs.ok("GET", "/v1/policy")).toMatchObject({ allow: { dependencies: true } });
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
    for (const room of ["Hosts", "Policies", "Keys"]) expect(await rooms.allInnerTexts()).not.toContain(room);
    expect(await page.getByRole("textbox", { name: "Tenant" }).count()).toBe(0);
    await page.goto(`${stack.url}/hosts`);
    await page.getByText("Hosts are for keys with the scope operator").waitFor();
    await page.goto(`${stack.url}/policies`);
    await page.getByText("Policies are for keys with the scope operator").waitFor();
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
