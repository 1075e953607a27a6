/**
 * The simplest sandbox (TMPFS_NONE: files in memory, no datasets, no network): variables stay from run to run, output
 * comes while the code runs, files in /session/artifacts are kept, and code that never ends is stopped.
 *
 * @module
 */
import { Config } from "@sandbar/sdk/node";

const client = Config.fromEnv().client();
await using session = await client.session({ runtime: "python", storage: "TMPFS", datasets: "NONE" });
console.log(`session ${session.id} is ${session.info.status}`);

await session.run("numbers = [3, 1, 2]");
const sorted = (await session.run("sorted(numbers)")).ok();
console.log("sorted:", sorted.text);

for await (const event of session.stream("for n in numbers: print('live', n)"))
  if (event.type === "stdout") process.stdout.write(event.text);

const plot = await session.run(`
import matplotlib.pyplot as plt
plt.plot(numbers)
plt.savefig("/session/artifacts/plot.png")
`);
for (const { name, mime, size, id } of plot.ok().artifacts) {
  const bytes = await client.artifacts.read(id);
  console.log(`artifact ${name} (${mime}): ${bytes.length} of ${size} bytes read`);
}

const failed = await session.run("1 / 0");
console.log("an error is an answer:", failed.error?.name);

const endless = await session.run("while True: pass", { timeoutS: 1 });
console.log(`endless code: ${endless.status}, variables ${endless.state.variables}`);
console.log("still there:", (await session.run("len(numbers)")).ok().text);
