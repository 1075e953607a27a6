import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";

const guest = path.resolve(import.meta.dirname, "../../images/guest");

describe("whatever archive or path comes", () => {
  it("nothing outside of the destination changes", { timeout: 120_000 }, () => {
    const seed = Number(process.env.SANDBAR_SEED ?? Math.floor(Math.random() * 2 ** 31));
    const seconds = Number(process.env.SANDBAR_FUZZ_S ?? 8);
    console.log(`SANDBAR_SEED=${seed}`);
    const said = execFileSync(
      "docker",
      [
        ...["run", "--rm", "--user", "65532:65532", "--read-only", "--network", "none", "--memory", "512m"],
        ...["--tmpfs", "/session:uid=65532,gid=65532,size=64m", "--label", "sandbar.test=guest"],
        ...["--volume", `${guest}:/opt/sandbar/guest:ro`, "--volume", `${import.meta.dirname}:/fuzz:ro`],
        ...["--entrypoint", "python3", "sandbar/python:latest"],
        ...["-B", "/fuzz/fuzz_files.py", String(seed), String(seconds)],
      ],
      { encoding: "utf8" },
    );
    console.log(said.trim());
    const [, unpacked, refused] = /(\d+) archives unpacked, (\d+) refused/.exec(said)!;
    expect(Number(unpacked)).toBeGreaterThan(10);
    expect(Number(refused)).toBeGreaterThan(10);
  });
});
