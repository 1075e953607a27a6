/**
 * From session to session and from runtime to runtime: Python makes a table, R fits a line through it, Node reports.
 * Files go straight from sandbox to sandbox, on whichever hosts they run; the last one travels as an artifact, which
 * also works when the session that made it is gone.
 *
 * @module
 */
import { Config } from "@sandbar/sdk/node";

const client = Config.fromEnv().client();

await using python = await client.session({ runtime: "python" });
(
  await python.run(`
import pandas as pd
x = range(1, 11)
pd.DataFrame({"x": x, "y": [2 * n + 1 + (n % 2) / 10 for n in x]}).to_csv("/session/points.csv", index=False)
`)
).ok();

await using r = await client.session({ runtime: "r" });
const [copied] = await r.files.import([
  { destination: "/session/points.csv", session_id: python.id, path: "/session/points.csv" },
]);
console.log(`python → r: ${copied!.size} bytes, sha256 ${copied!.sha256?.slice(0, 12)}`);
(
  await r.run(`
fit <- lm(y ~ x, data = read.csv("/session/points.csv"))
line <- round(coef(fit), 2)
writeLines(sprintf('{"slope": %s, "intercept": %s}', line[["x"]], line[["(Intercept)"]]), "/session/line.json")
`)
).ok();
const [exported] = await r.export(["/session/line.json"]);
await r.stop();

await using node = await client.session({ runtime: "node" });
await node.files.import([{ destination: "/session/line.json", artifact_id: exported!.artifact!.id }]);
const report = await node.run(`
const { slope, intercept } = JSON.parse(require("fs").readFileSync("/session/line.json", "utf8"));
console.log(\`y = \${slope} x + \${intercept}\`);
`);
process.stdout.write(`r → node: ${report.ok().stdout}`);
