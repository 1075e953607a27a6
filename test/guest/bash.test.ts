import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunOptions } from "./fixture.ts";
import { Sandbox, sleep } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start();
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

const bash = (code: string, options: RunOptions = {}) => box.run(code, { ...options, language: "bash" });

describe("a bash kernel", () => {
  it("keeps stdout, stderr and the exit code apart", async () => {
    const ran = await bash("echo out; echo err >&2; false");
    expect(ran).toMatchObject({ stdout: "out\n", stderr: "err\n", error: null });
    expect(ran.done).toMatchObject({ status: "error", exit_code: 1, exit: null });
    expect((await bash("true")).done).toMatchObject({ status: "ok", exit_code: 0 });
    expect((await bash("nosuchcommand")).stderr).toBe("bash: line 1: nosuchcommand: command not found\n");
  });

  it("keeps cwd, variables, arrays, functions, options and the environment", async () => {
    await bash(
      "cd /tmp; V='a  b'; export E=exported; A=(1 'two words'); declare -A M=([k]=v); f() { echo \"f:$1\"; }; shopt -s nullglob; umask 027",
    );
    const ran = await bash(
      'pwd; echo "$V"; sh -c \'echo $E\'; echo "${A[1]}" "${M[k]}"; f x; shopt -q nullglob && echo nullglob; umask',
    );
    expect(ran.stdout).toBe("/tmp\na  b\nexported\ntwo words v\nf:x\nnullglob\n0027\n");
  });

  it("ends only the snippet at exit, and keeps everything", async () => {
    const ran = await bash("V='new value'; echo before; exit 3; echo after");
    expect(ran.stdout).toBe("before\n");
    expect(ran.done).toMatchObject({ status: "error", exit_code: 3, exit: null });
    const next = await bash(
      'pwd; echo "$V"; sh -c \'echo $E\'; echo "${A[1]}" "${M[k]}"; f x; shopt -q nullglob && echo nullglob; umask',
    );
    expect(next.stdout).toBe("/tmp\nnew value\nexported\ntwo words v\nf:x\nnullglob\n0027\n");
    expect(box.messages.filter((m) => m.type === "context" && m.state === "starting")).toHaveLength(1);
  });

  it("honours set -e, -u and pipefail, and they persist", async () => {
    const ran = await bash("set -eo pipefail; echo a; false | true; echo b");
    expect(ran.stdout).toBe("a\n");
    expect(ran.done.exit_code).toBe(1);
    const next = await bash(
      "[[ $- == *e* ]] && shopt -qo pipefail && echo still; set +e; set +o pipefail; false; echo on",
    );
    expect(next.stdout).toBe("still\non\n");
    expect((await bash("set -u; echo $UNSET_VARIABLE; echo no")).stdout).toBe("");
    expect((await bash('set +u; echo "$V"')).stdout).toBe("new value\n");
  });

  it("traces with set -x only what the snippet does", async () => {
    expect((await bash("set -x\necho traced")).stderr).toBe("++ echo traced\n");
    expect((await bash("echo again; set +x")).stderr).toBe("++ echo again\n++ set +x\n");
    expect((await bash("echo quiet")).stderr).toBe("");
  });

  it("reports unbalanced quotes and goes on", async () => {
    for (const code of ["echo 'open", 'echo "open', "if true; then", "echo $(", "cat <<EOF\nno end", "}"]) {
      const ran = await bash(code);
      if (!code.startsWith("cat")) expect(ran.done).toMatchObject({ status: "error" });
      expect((await bash("echo fine")).stdout).toBe("fine\n");
    }
    expect((await bash("echo 'open")).stderr).toContain("unexpected EOF");
  });

  it("takes quotes, backslashes, heredocs and Unicode as they are", async () => {
    const ran = await bash("cat <<'EOF'\n$x `y` \\n \\\\ \"q\" 'p' %s %b é😀\nEOF\necho 'tab\there'");
    expect(ran.stdout).toBe("$x `y` \\n \\\\ \"q\" 'p' %s %b é😀\ntab\there\n");
    await bash("export LC_ALL=C LANG=C; IFS=,");
    expect((await bash("echo 'é😀'; unset LC_ALL; IFS=$' \\t\\n'")).stdout).toBe("é😀\n");
  });

  it("takes code that begins with a byte order mark", async () => {
    expect(await bash("\ufeffecho '\ufeff'")).toMatchObject({ stdout: "\ufeff\n", stderr: "" });
  });

  it("survives break, continue and return at top level", async () => {
    expect((await bash("echo a; break; echo b")).stdout).toBe("a\n");
    expect((await bash("echo a; continue; echo b")).stdout).toBe("a\n");
    await bash("return 5");
    expect((await bash('echo "$V"')).stdout).toBe("new value\n");
  });

  it("gives stdin to read and to commands, and nothing when there is none", async () => {
    expect((await bash('read -r a; echo "[$a]"; cat', { stdin: "one\ntwo\nthree" })).stdout).toBe(
      "[one]\ntwo\nthree",
    );
    expect((await bash("read -r a || echo eof; cat")).stdout).toBe("eof\n");
  });

  it("sets the environment of one execution only", async () => {
    expect((await bash("sh -c 'echo $ONLY $E'", { env: { ONLY: "a 'b' $c\n;", E: "other" } })).stdout).toBe(
      "a 'b' $c ; other\n",
    );
    expect((await bash('echo "[$ONLY] $E"')).stdout).toBe("[] exported\n");
  });

  it("interrupts the foreground command and what would follow; variables stay", async () => {
    for (const code of [
      "sleep 60; echo next",
      "while :; do :; done; echo next",
      "x=$(sleep 60); echo next",
      "read -r x < <(sleep 60); echo next",
    ]) {
      const execution = box.start(`V=kept; echo go >&2; ${code}`, { language: "bash" });
      await box.printed(execution);
      await sleep(150);
      box.send({ type: "interrupt", execution });
      const ran = await box.finish(execution);
      expect(ran.done).toMatchObject({ status: "interrupted", exit_code: 130 });
      expect(ran.stdout).toBe("");
    }
    expect((await bash('echo "$V ${A[1]}"; f y; pwd')).stdout).toBe("kept two words\nf:y\n/tmp\n");
  });

  it("leaves background jobs alone, and their later output out of later snippets", async () => {
    const mark = box.messages.length;
    const ran = await bash(
      "rm -f /tmp/enough; (until [ -e /tmp/enough ]; do echo ghost; sleep 0.05; done) & echo started",
    );
    expect(ran.stdout.startsWith("started") || ran.stdout.includes("started")).toBe(true);
    expect((await bash("sleep 0.2; echo mine")).stdout).toBe("mine\n");
    await box.message("late", ({ text }) => text.includes("ghost"), mark);
    expect((await bash("touch /tmp/enough; wait; jobs -r; echo waited")).stdout).toBe("waited\n");
  });

  it("takes binary and huge output", async () => {
    const ran = await bash("head -c 50000000 /dev/zero | tr '\\0' x; head -c 1000 /dev/urandom >&2", {
      stream_limit: 100_000,
    });
    expect(ran.stdout).toHaveLength(100_000);
    expect(ran.done.totals.stdout).toBe(50_000_000);
    expect(ran.done.status).toBe("ok");
  });

  it("runs an EXIT trap when the snippet exits", async () => {
    const ran = await bash("trap 'echo cleanup' EXIT; echo work; exit 2");
    expect(ran.stdout).toBe("work\ncleanup\n");
    expect(ran.done.exit_code).toBe(2);
    expect((await bash("(trap 'echo sub' EXIT; echo in); exit 0")).stdout).toBe("in\nsub\n");
  });

  it("runs one EXIT trap of many signals, and lets traps be taken back", async () => {
    const exit = await bash("trapped=yes; trap 'echo cleaned' EXIT INT TERM; exit 4");
    expect(exit).toMatchObject({ stdout: "cleaned\n", done: { status: "error", exit_code: 4, exit: null } });
    expect((await bash("trap 'echo no' EXIT; trap EXIT; echo $trapped; exit")).stdout).toBe("yes\n");
    await bash("trap 'echo failed' ERR");
    expect(await bash("false")).toMatchObject({ stdout: "failed\n", done: { exit_code: 1 } });
    expect((await bash("trap - ERR; false")).stdout).toBe("");
    expect((await bash("false")).stdout).toBe("");
    expect((await bash("trap 'echo step' DEBUG; :; trap - DEBUG; :")).stdout).toBe("step\nstep\n");
    expect((await bash("trap 'echo step' DEBUG; :")).stdout).toBe("step\n");
    expect((await bash(":")).stdout).toBe("");
  });

  it("lives on after options that no shell can take back, and after any other", async () => {
    await bash("kept=yes");
    for (const code of ["set -n\necho no", "x=1; set -o noexec; echo no", "set -r", "set -en"]) {
      const ran = await bash(code);
      expect([code, ran.done.status, ran.stdout]).toEqual([code, "ok", ""]);
    }
    expect(await bash("text='set -n'; kept=$kept; echo $kept")).toMatchObject({
      stdout: "yes\n",
      done: { exit: null },
    });
    expect((await bash("echo $text; f() { exit 3; }; set -o | grep noexec; f")).done.exit_code).toBe(3);
    for (const flag of ["k", "a", "t", "C", "E", "T"]) {
      expect([flag, (await bash(`set -${flag}; false`)).done]).toMatchObject([
        flag,
        { status: "error", exit_code: 1 },
      ]);
      const after = await bash(`printenv | grep -c __sb_; [[ $- == *${flag}* ]] && set +${flag}`);
      expect([flag, after.stdout, after.done.exit_code]).toEqual([flag, "0\n", 0]);
    }
    expect((await bash("echo $text $kept")).stdout).toBe("set -n yes\n");
  });

  it("keeps its own descriptor out of the way of coprocesses", async () => {
    await bash("coproc C { cat; }; exec 60</dev/null 63</dev/null; eval() { echo mine; }");
    expect((await bash("echo hi >&${C[1]}; read r <&${C[0]}; echo $r; kill $C_PID")).stdout).toBe("hi\n");
    expect((await bash("unset -f eval; echo alive")).stdout).toBe("alive\n");
  });

  it("says that a signal ended the snippet, and keeps everything", async () => {
    for (const [signal, code] of [
      ["TERM", 143],
      ["HUP", 129],
      ["USR1", 138],
    ]) {
      const ran = await bash(`V=${signal}; echo before; kill -${signal} $$; echo after`);
      expect(ran).toMatchObject({ stdout: "before\n", done: { status: "error", exit_code: code } });
      expect((await bash('echo "$V"')).stdout).toBe(`${signal}\n`);
    }
    await bash("trap 'echo caught' TERM");
    expect((await bash("kill -TERM $$; echo after; trap - TERM")).stdout).toBe("caught\nafter\n");
  });

  it("refuses to list its state, and keeps it", async () => {
    await bash("V=kept");
    expect(await box.call("state", { context: "bash" })).toMatchObject({ code: "VALIDATION_FAILED" });
    expect((await bash('echo "$V"')).stdout).toBe("kept\n");
  });

  it("hides its control socket from child processes", async () => {
    expect((await bash("ls -l /proc/self/fd | grep -c socket")).stdout).toBe("0\n");
  });

  it("dies when the shell is replaced or killed, and comes back fresh", async () => {
    const mark = box.messages.length;
    const ran = await bash("exec sh -c 'echo replaced; exit 4'");
    expect(ran.stdout).toBe("replaced\n");
    expect(ran.done).toMatchObject({ status: "died", exit: { exit_code: 4, signal: null, oom: false } });
    await box.message("context", (m) => m.context === "bash" && m.state === "ready", mark);
    expect((await bash("kill -9 $$")).done).toMatchObject({ status: "died", exit: { signal: 9 } });
    expect((await bash('echo "[$V]"; pwd')).stdout).toBe("[]\n/session\n");
  });

  it("is ended by kill when it ignores the interrupt", async () => {
    const execution = box.start("trap '' INT; echo going; while :; do sleep 1; done", { language: "bash" });
    await box.until(() => box.eventsOf(execution).some((e) => e.type === "stdout"));
    box.send({ type: "interrupt", execution });
    await sleep(100);
    box.send({ type: "kill", execution });
    expect((await box.finish(execution)).done).toMatchObject({ status: "died", exit: { signal: 9 } });
  });
});
