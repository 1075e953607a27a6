import { Sandbar, type Session } from "@sandbar/sdk";
import { makeListDatasetsTool, makeSelectDatasetTool } from "@sandbar/sdk/langchain";
import { beforeAll, describe, expect, it } from "vitest";
import { useDatasetUpstream } from "../fixtures/dataset-source.ts";

import { sha256 } from "../fixtures/sha256.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("datasets through the TypeScript client", () => {
  const upstream = useDatasetUpstream();
  const { stack } = useStack();
  let client: Sandbar;
  let session: Session;

  beforeAll(async () => {
    client = new Sandbar({ url: stack.url, apiKey: stack.key });
    session = await client.session({ datasets: "API" });
  });

  it("a source is registered, used, listed and removed", async () => {
    const made = await client.datasetSources.create({
      name: "lake",
      url_template: `${upstream.origin}/datasets/{id}`,
      allow_private: true,
    });
    const listed = [];
    for await (const source of client.datasetSources.list()) listed.push(source);
    expect(listed).toEqual([made]);
    upstream.set("sales", "sales");
    const first = await session.datasets.select("sales", { source: "lake" }, { version: "1" });
    expect(first).toMatchObject({ status: "LOADED", version: "1", sha256: sha256("sales") });
    expect(await session.datasets.select("sales", { source: "lake" }, { version: "1" })).toEqual(first);
    expect(upstream.count("sales")).toBe(1);
    await client.datasetSources.remove(made.id);
    await expect(session.datasets.select("other", { source: "lake" })).rejects.toMatchObject({
      code: "SOURCE_NOT_ALLOWED",
    });
  });

  it("a function of the caller's gives the bytes, and a changed dataset is exported", async () => {
    const fetched: string[] = [];
    const fetchIt = (id: string) => {
      fetched.push(id);
      return { bytes: new TextEncoder().encode(`bytes of ${id}`), version: "7" };
    };
    expect(await session.datasets.select("own", fetchIt)).toMatchObject({
      status: "LOADED",
      size: 12,
      version: "7",
    });
    expect(await session.datasets.select("own", fetchIt, { version: "7" })).toMatchObject({ version: "7" });
    expect(fetched).toEqual(["own"]);
    await session.run(`open("/session/data/own.parquet", "a").write("!")`);
    const artifact = await session.datasets.export("own");
    expect(artifact).toMatchObject({
      sha256: sha256("bytes of own!"),
      name: expect.stringMatching(/^own_\d+T\d+Z\.parquet$/),
    });
    const copy = await session.datasets.select("copy", { artifact_id: artifact.id });
    expect(copy).toMatchObject({ status: "LOADED", sha256: artifact.sha256 });
    expect((await session.datasets.list()).data.map(({ id }) => id)).toEqual(["sales", "own", "copy"]);
  });

  it("the tools of an agent select and list them", async () => {
    const options = { client, session: { datasets: "API" as const } };
    const select = makeSelectDatasetTool({ ...options, fetchDataset: (id) => new TextEncoder().encode(id) });
    const config = { configurable: { thread_id: "t1" } };
    expect(await select.invoke({ dataset_id: "a" }, config)).toContain("/session/data/a.parquet (1 bytes)");
    expect(await makeListDatasetsTool(options).invoke({}, config)).toContain(
      "a: /session/data/a.parquet (1 bytes",
    );
  });
});
