import { expect, it } from "vitest";
import { ByteSource } from "../io/byte-source.ts";
import { artifactName } from "./artifact-name.ts";

const named = (raw: Buffer | string) =>
  artifactName({ path_b64: Buffer.from(raw as string).toString("base64") });

it.each(["a b", "new\nline", "ü", "\u202e", "\ufeffbom", "in/folder", "~"])("%j stays as it is", (name) => {
  expect(named(name)).toBe(name);
});

it("names that are not UTF-8 are readable, stable and different", () => {
  const [a, b] = [named(Buffer.from([0x61, 0xff])), named(Buffer.from([0x61, 0xfe]))];
  expect(a).toMatch(/^a\ufffd~[0-9a-f]{8}$/);
  expect(a).not.toBe(b);
  expect(named(Buffer.from([0x61, 0xff]))).toBe(a);
});

it("a stream is taken apart wherever its chunks were cut", async () => {
  const bytes = Buffer.from('{"size":5}\nhello+{"skip":"x"}\n');
  for (let cut = 1; cut < bytes.length; cut++) {
    const source = new ByteSource(
      (async function* () {
        for (let at = 0; at < bytes.length; at += cut) yield bytes.subarray(at, at + cut);
      })(),
    );
    expect(await source.line(100)).toBe('{"size":5}');
    expect((await source.exactly(5)).toString()).toBe("hello");
    expect((await source.exactly(1)).toString()).toBe("+");
    expect(await source.line(100)).toBe('{"skip":"x"}');
    await expect(source.exactly(1)).rejects.toThrow("ended early");
  }
});

it("a line that does not end is refused at its limit", async () => {
  const source = new ByteSource(
    (async function* () {
      for (;;) yield Buffer.alloc(1000, "x");
    })(),
  );
  await expect(source.line(5000)).rejects.toThrow("too long");
});
