/** The CLI's completion scripts in the shells that they are for, and the words that it hands to `npm start` and `down`. */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbar-completion-"));
writeFileSync(
  join(folder, "sandbar"),
  `#!/bin/sh\nexec '${process.execPath}' '${join(REPO, "cli/src/main.ts")}' "$@"\n`,
  { mode: 0o755 },
);
const options = {
  cwd: folder,
  env: { ...process.env, HOME: folder, PATH: `${folder}:${process.env.PATH}` },
  encoding: "utf8",
  timeout: 30_000,
} as const;

afterAll(() => rmSync(folder, { recursive: true }));

const missing = (shell: string) => !existsSync(`/usr/bin/${shell}`);

describe("sandbar completes", () => {
  const bash = (...words: string[]) =>
    execFileSync(
      "bash",
      [
        "-c",
        'eval "$(sandbar completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sandbar 2>/dev/null; echo "${COMPREPLY[@]}"',
        "bash",
        "sandbar",
        ...words,
      ],
      options,
    ).trim();

  it("in bash", () => {
    expect(bash("sess")).toBe("sessions");
    expect(bash("sessions", "")).toMatch(/^list get create stop --url .*--help$/);
    expect(bash("sessions", "create", "--run")).toBe("--runtime");
    expect(bash("run", "no-such-word")).toBe("");
  });

  it.skipIf(missing("fish"))("in fish", () => {
    const fish = (line: string) =>
      execFileSync(
        "fish",
        [
          "--no-config",
          "-c",
          `sandbar completion fish | source; complete --do-complete ${JSON.stringify(line)}`,
        ],
        options,
      ).trim();
    expect(fish("sandbar sess")).toBe("sessions");
    expect(fish("sandbar sessions create --run")).toBe("--runtime");
  });

  it.skipIf(missing("zsh"))("in zsh", () => {
    // Only an interactive zsh completes, so one zsh gives another a terminal and presses its Tab key.
    const script = `
      zmodload zsh/zpty
      zpty inner zsh -f -i
      zpty -w inner 'autoload -Uz compinit; compinit -u -D; eval "$(sandbar completion zsh)"'
      zpty -w inner 'show() { print -r "<$BUFFER>" }; zle -N show; bindkey "^G" show; echo "REA""DY"'
      zpty -r inner seen '*READY*'
      zpty -w -n inner $'sandbar sess\\t\\a'
      zpty -r inner seen '*<sandbar sessions >*'
      zpty -w -n inner $'create --run\\t\\a'
      zpty -r inner seen '*<sandbar sessions create --runtime >*'
      zpty -d inner
      echo completed`;
    expect(execFileSync("zsh", ["-f", "-c", script], options).trim()).toBe("completed");
  });
});

it("sandbar up and down are npm start and npm run down, words included", () => {
  const sandbar = (...words: string[]) => spawnSync("sandbar", words, options);
  expect(sandbar("up", "--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("npm start") });
  expect(sandbar("down", "--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("--purge") });
  expect(sandbar("up", "--prot", "80")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("Unknown option '--prot'"),
  });
});
