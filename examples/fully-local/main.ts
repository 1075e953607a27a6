/**
 * Fully local (BIND_LOCAL): the session's files are a folder on the host's disk, and the host's own datasets are
 * mounted read-only at /data. The host's operator sets the folder: `DATASETS_HOST_RO=/srv/data npm start`.
 *
 * @module
 */
import { Config } from "@sandbar/sdk/node";

const client = Config.fromEnv().client();
await using session = await client.session({ storage: "BIND", datasets: "LOCAL_RO" });
console.log(`session ${session.id}`);

const { data } = await session.datasets.list();
for (const { path, size } of data) console.log(`dataset ${path}: ${size} bytes`);

const summary = await session.run(`
import pandas as pd, pathlib
for file in sorted(pathlib.Path("/data").rglob("*.csv")):
    frame = pd.read_csv(file)
    totals = frame.select_dtypes("number").sum()
    print(file.name, len(frame), "rows", dict(totals.astype(int).items()))
    frame.to_json(f"/session/{file.stem}.json", orient="records")
`);
process.stdout.write(summary.ok().stdout);

const write = await session.run("open('/data/new.csv', 'w')");
console.log("datasets are read-only:", write.error?.name);

// With BIND this is <SANDBAR_HOME>/sessions/<id> on the host, beside the session's log.
for (const { path } of await session.files.list("/session")) console.log("on the host's disk:", path);
