import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbar, type Session } from "@sandbar/sdk";
import { downloadFile, saveArtifact, uploadFile } from "@sandbar/sdk/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useStack } from "../fixtures/use-stack.ts";

describe("files and artifacts through the TypeScript client", () => {
  const { stack } = useStack();
  let client: Sandbar;
  let session: Session;
  const folder = mkdtempSync(join(tmpdir(), "sandbar-files-"));

  beforeAll(async () => {
    client = new Sandbar({ url: stack.url, apiKey: stack.key });
    session = await client.session();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
  });

  it("what is written is read again, whatever its form and its name", async () => {
    const names = ["a b.txt", "ünï 😀.txt", "-dash", "qu'o\"te", "deep/er/file"];
    for (const name of names) {
      const written = await session.files.write(name, `content of ${name}`);
      expect(written.size).toBe(new TextEncoder().encode(`content of ${name}`).length);
      expect(await session.files.readText(name)).toBe(`content of ${name}`);
    }
    const bytes = new Uint8Array(300_000).map((_, i) => i % 256);
    for (const content of [bytes, bytes.buffer, new Blob([bytes]), new Blob([bytes]).stream()]) {
      await session.files.write("/session/bytes", content);
      expect(Buffer.from(await session.files.read("bytes")).equals(bytes)).toBe(true);
    }
    await session.files.write("empty", "");
    expect(await session.files.read("empty")).toHaveLength(0);
  });

  it("lists, looks, moves, makes and removes", async () => {
    await session.files.mkdir("/session/tree/sub");
    await session.files.write("tree/one", "1");
    await session.files.write("tree/sub/two", "22");
    const names = (entries: { path: string }[]) => entries.map(({ path }) => path).sort();
    expect(names(await session.files.list("tree"))).toHaveLength(2);
    expect(await session.files.list("tree", { depth: 3 })).toHaveLength(3);
    expect(await session.files.stat("tree/sub/two")).toMatchObject({ name: "two", type: "file", size: 2 });
    await session.files.move("tree/one", "tree/uno");
    expect(await session.files.exists("tree/one")).toBe(false);
    expect(await session.files.readText("tree/uno")).toBe("1");
    await expect(session.files.move("tree/uno", "tree/sub/two")).rejects.toMatchObject({
      code: "PATH_EXISTS",
    });
    await expect(session.files.remove("tree")).rejects.toMatchObject({ code: "FOLDER_NOT_EMPTY" });
    await session.files.remove("tree", { recursive: true });
    expect(await session.files.exists("tree")).toBe(false);
    await expect(session.files.read("missing")).rejects.toMatchObject({ code: "NOT_FOUND", status: 404 });
  });

  it("a large file goes up and comes down in streams, with progress", async () => {
    const path = join(folder, "large");
    const bytes = Buffer.alloc(20_000_000, "0123456789abcdef!");
    writeFileSync(path, bytes);
    let up = 0;
    await uploadFile(session, path, "/session/large", { onProgress: (sent) => (up = sent) });
    expect(up).toBe(bytes.length);
    let seen: [number, number | null] = [0, null];
    const saved = await downloadFile(session, "/session/large", join(folder, "back"), {
      onProgress: (...progress) => (seen = progress),
    });
    expect(seen).toEqual([bytes.length, bytes.length]);
    expect(readFileSync(saved).equals(bytes)).toBe(true);
    await expect(downloadFile(session, "/session", join(folder, "x"))).rejects.toMatchObject({
      code: "NOT_A_FILE",
    });
    expect(readdirSync(folder).sort()).toEqual(["back", "large"]);
    await session.files.remove("large");
  });

  it("watches changes until told to stop", async () => {
    await session.files.mkdir("watched");
    const abort = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, path } of session.files.watch("watched", { signal: abort.signal })) {
        seen.push(`${type} ${path}`);
        if (type === "created" && path.endsWith("new")) abort.abort();
      }
    })();
    // The watch begins a moment after it was asked for.
    while (!abort.signal.aborted)
      await session.sh("echo x > /session/watched/new; sleep 0.3; rm /session/watched/new");
    await watching;
    expect(seen.some((line) => /^created .*new$/.test(line))).toBe(true);
  });

  it("imports one result per file, in order", async () => {
    const other = await client.session();
    await other.files.write("from-other", "other");
    const results = await session.files.import([
      { destination: "in/text", content: "text" },
      { destination: "in/bytes", content: btoa("bytes"), encoding: "base64" },
      { destination: "in/copied", session_id: other.id, path: "from-other" },
      { destination: "in/missing", session_id: other.id, path: "missing" },
    ]);
    expect(results.map(({ ok }) => ok)).toEqual([true, true, true, false]);
    expect(results[3]!.error).toMatchObject({ code: "NOT_FOUND" });
    expect(await session.files.readText("in/copied")).toBe("other");
    await other.stop();
  });

  it("artifacts are listed, read, saved, linked, brought back and deleted", async () => {
    const execution = await session.run(
      "open('/session/artifacts/a b.csv', 'w').write('x,y\\n1,2\\n')\nopen('/session/artifacts/blob', 'wb').write(bytes(range(256)) * 1000)",
    );
    expect(execution.artifacts.map(({ name }) => name).sort()).toEqual(["a b.csv", "blob"]);
    const [table, blob] = ["a b.csv", "blob"].map(
      (name) => execution.artifacts.find((a) => a.name === name)!,
    );
    expect(await client.artifacts.readText(table!.id)).toBe("x,y\n1,2\n");
    expect(await session.artifacts.list().all()).toHaveLength(2);
    expect(await client.artifacts.get(blob!.id)).toMatchObject({ size: 256_000, sha256: blob!.sha256 });
    const saved = await saveArtifact(client.artifacts, blob!.id, `${folder}/`);
    expect(readFileSync(saved)).toHaveLength(256_000);
    const tail = await new Response(
      await client.artifacts.stream(blob!.id, { start: 255_990 }),
    ).arrayBuffer();
    expect([...new Uint8Array(tail)]).toEqual([246, 247, 248, 249, 250, 251, 252, 253, 254, 255]);
    const { url } = await client.artifacts.link(table!.id, { expiresInS: 60 });
    expect(await (await fetch(url)).text()).toBe("x,y\n1,2\n");
    await session.files.import([{ destination: "back.csv", artifact_id: table!.id }]);
    expect(await session.files.readText("back.csv")).toBe("x,y\n1,2\n");
    await client.artifacts.delete(table!.id);
    await expect(client.artifacts.get(table!.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("folders go both ways as archives", async () => {
    const tree = join(folder, "tree/sub");
    mkdirSync(tree, { recursive: true });
    await session.files.mkdir("packed");
    await session.files.write("packed/one", "1");
    const { type, body } = await session.files.open("packed");
    expect(type).toBe("directory");
    const archive = new Uint8Array(await new Response(body).arrayBuffer());
    expect(await session.files.extract("unpacked", archive)).toMatchObject({ entries: expect.any(Number) });
    expect((await session.sh("find /session/unpacked -name one | xargs cat")).stdout).toBe("1");
  });
});
