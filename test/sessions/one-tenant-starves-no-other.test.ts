/** What one tenant's sessions take all of, while another tenant works beside them. */
import type { Session } from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../fixtures/client.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack } = useStack({
  agentEnv: { SANDBAR_POOL: "python=1", SANDBAR_POOL_MAX: "1", SANDBAR_BIND_MB: "32" },
});
let hostile: Client;
let other: Client;
let work: Session;

/** In a process that holds on to it; the answer is what it got of it. */
const take = (code: string) => `
import subprocess, sys
held = subprocess.Popen([sys.executable, "-c", """${code}
print(len(got), flush=True)
import time; time.sleep(600)
"""], stdout=subprocess.PIPE, text=True)
int(held.stdout.readline())
`;
const INOTIFY = take(`
import ctypes
libc = ctypes.CDLL(None)
got = []
while len(got) < 5000:
    fd = libc.inotify_init1(0)
    if fd < 0: break
    got.append(fd)`);
const DESCRIPTORS = take(`
import os, resource
got = []
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
try:
    while True: got.append(os.dup(0))
except OSError: pass`);
const PROCESSES = take(`
import os
got = []
try:
    while len(got) < 5000:
        child = os.fork()
        if child == 0:
            import time; time.sleep(600); os._exit(0)
        got.append(child)
except OSError: pass`);
const FILES = `
import os
def fill(folder):
    size = 0
    try:
        with open(folder + "/big", "wb") as file:
            while size < 2**33: size += file.write(b"x" * 2**20)
    except OSError as error:
        return [size // 2**20, error.strerror]
    finally:
        try:
            names = 0
            while names < 20_000: open(f"{folder}/{names}", "w").close(); names += 1
        except OSError: pass
fill("/session")
`;
const LOOK = `
import ctypes, getpass, os, subprocess
libc = ctypes.CDLL(None)
watches = [libc.inotify_init1(0) for _ in range(16)]
for fd in watches: os.close(fd)
open("/session/mine", "w").write("y" * 1_000_000)
[min(watches) >= 0, os.path.getsize("/session/mine"), subprocess.run(["whoami"], capture_output=True, text=True).stdout, getpass.getuser(), os.path.expanduser("~")]
`;
const FINE = "[True, 1000000, 'sandbox\\n', 'sandbox', '/session/.home']";

beforeAll(async () => {
  hostile = await stack.clientOf("hostile");
  other = await stack.clientOf("other");
  work = await other.create();
});

describe("a session of another tenant", () => {
  it.each([
    ["inotify instances", INOTIFY, {}, 100],
    ["open files", DESCRIPTORS, {}, 1000],
    ["processes", PROCESSES, { limits: { pids: 128 } }, 50],
  ] as const)(
    "has its %s while a hostile one has taken all that it can get",
    async (_, code, spec, least) => {
      const session = await hostile.create(spec);
      const { text, error } = await hostile.run(session.id, code);
      expect(error).toBeNull();
      expect(Number(text)).toBeGreaterThan(least);
      expect((await other.run(work.id, LOOK)).text?.replaceAll(/\s+/g, " ")).toBe(FINE);
      const fresh = await other.create();
      expect((await other.run(fresh.id, LOOK)).text?.replaceAll(/\s+/g, " ")).toBe(FINE);
      await other.stop(fresh.id);
      await hostile.stop(session.id);
    },
  );

  it.each([
    ["memory", "TMPFS", 256],
    ["disk", "BIND", 32],
  ] as const)(
    "has its %s, and the host too, while a hostile one fills its files",
    async (_, storage, limit) => {
      const session = await hostile.create({ storage });
      const { text } = await hostile.run(session.id, FILES, { timeout_s: 120 });
      const [, size, reason] = /^\[(\d+), '(.*)'\]$/.exec(text ?? "")!;
      expect(Number(size)).toBeLessThanOrEqual(limit);
      expect(reason).toBe("No space left on device");
      expect((await other.run(work.id, LOOK)).text?.replaceAll(/\s+/g, " ")).toBe(FINE);
      await hostile.stop(session.id);
    },
  );

  it("is another user of the machine, and what they share in no way shows", async () => {
    const theirs = await hostile.create();
    const users = await Promise.all(
      [
        [other, work],
        [hostile, theirs],
      ].map(async ([client, session]) => {
        const { text } = await (client as Client).run((session as Session).id, "import os; os.getuid()");
        return Number(text);
      }),
    );
    expect(users[0]).not.toBe(users[1]);
    for (const user of users) expect(user).toBeGreaterThanOrEqual(1_000_000);
    await hostile.stop(theirs.id);
  });
});
