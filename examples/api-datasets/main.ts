/**
 * Datasets from your own API (TMPFS_API): a function of yours fetches a dataset when it is selected; Sandbar stages the
 * bytes at /session/data/<id>.parquet, and gives a changed dataset back under a new name.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Config } from "@sandbar/sdk/node";

// Stands for the service that holds your data.
const api = createServer(async (request, response) => {
  if (request.url !== "/datasets/sales") return response.writeHead(404).end();
  console.log("the API is asked for sales");
  response.end(await readFile(join(import.meta.dirname, "sales.parquet")));
}).listen(0, "127.0.0.1");
await new Promise((listening) => api.once("listening", listening));
const origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;

async function fetchDataset(id: string): Promise<Uint8Array> {
  const response = await fetch(`${origin}/datasets/${id}`);
  if (!response.ok) throw new Error(`${id}: the API answers ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

try {
  const client = Config.fromEnv().client();
  await using session = await client.session({ storage: "TMPFS", datasets: "API" });

  const dataset = await session.datasets.select("sales", fetchDataset, { version: "2026-11" });
  console.log(`${dataset.id} is ${dataset.status} at ${dataset.path}, ${dataset.size} bytes`);

  // The session has this version already: nothing is fetched.
  await session.datasets.select("sales", fetchDataset, { version: "2026-11" });

  const totals = await session.run(`
import pandas as pd
sales = pd.read_parquet("${dataset.path}")
print(sales.groupby("region").amount.sum().to_dict())
sales.assign(doubled=sales.amount * 2).to_parquet("${dataset.path}")
`);
  process.stdout.write(totals.ok().stdout);

  await session.datasets
    .select("unknown", fetchDataset)
    .catch((error) => console.log("not staged:", error.message));

  const exported = await session.datasets.export("sales");
  const bytes = await client.artifacts.read(exported.id);
  console.log(`the changed dataset: ${exported.name}, ${bytes.length} bytes`);
} finally {
  api.close();
}
