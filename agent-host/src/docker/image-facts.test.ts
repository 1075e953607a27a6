import { describe, expect, it } from "vitest";
import { TAR_END, tarHeader, tarPadding } from "../io/tar-header.ts";
import { firstFile } from "./first-file.ts";
import { passwdWith } from "./image-facts.ts";

describe("a sandbox's /etc/passwd", () => {
  it("is its image's, with the sandbox under its own number", () => {
    const passwd = "root:x:0:0::/root:/bin/bash\nsandbox:x:65532:65532::/home/sandbox:/bin/bash\n";
    expect(passwdWith(passwd, 1_000_007, 65532)).toBe(
      "root:x:0:0::/root:/bin/bash\nsandbox:x:1000007:65532::/home/sandbox:/bin/bash\n",
    );
  });

  it("has the sandbox also where the image does not, and nobody else of its number", () => {
    expect(passwdWith("root:x:0:0::/root:/bin/sh\nmine:x:1000007:1::/mine:/bin/sh", 1_000_007, 65532)).toBe(
      "root:x:0:0::/root:/bin/sh\nsandbox:x:1000007:65532::/session:/bin/sh\n",
    );
  });
});

describe("the first file of a tar stream", () => {
  const entry = (type: "file" | "symlink", name: string, content: string) => {
    const bytes = Buffer.from(content);
    const head = { name: Buffer.from(name), mode: 0o644, mtimeS: 0 };
    return type === "file"
      ? Buffer.concat([tarHeader({ ...head, type, size: bytes.length }), bytes, tarPadding(bytes.length)])
      : tarHeader({ ...head, type, size: 0, target: bytes });
  };
  const read = (limit: number, ...parts: Buffer[]) => {
    const whole = Buffer.concat([...parts, TAR_END]);
    async function* chunks() {
      for (let at = 0; at < whole.length; at += 100) yield whole.subarray(at, at + 100);
    }
    return firstFile(chunks(), limit);
  };

  it("is found, behind records about it too, and only when it is a file of a bearable size", async () => {
    expect(await read(100, entry("file", "passwd", "root:x"))).toBe("root:x");
    expect(await read(100, entry("file", "n".repeat(300), "root:x"))).toBe("root:x");
    expect(await read(5, entry("file", "passwd", "root:x"))).toBeNull();
    expect(await read(100, entry("symlink", "passwd", "/etc/shadow"))).toBeNull();
    expect(await read(100_000, entry("file", "passwd", "x".repeat(90_000)).subarray(0, 700))).toBeNull();
  });
});
