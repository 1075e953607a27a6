import { readdirSync, readFileSync } from "node:fs";
import { listGuests } from "@sandbar/agent-host/src/wasm/guest-process.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { useStack } from "../fixtures/use-stack.ts";

/** Each is code that must not print `OUT`. */
const ATTEMPTS: Record<string, string> = {
  "JavaScript made from text": "import js\njs.Function.new('return 1')()\nprint('OUT')",
  "JavaScript by a constructor's constructor":
    "import js\njs.Object.constructor.constructor('return globalThis')()\nprint('OUT')",
  "Deno's files": "import js\njs.Deno.readTextFileSync('/etc/passwd')\nprint('OUT')",
  "Deno's environment": "import js\njs.Deno.env.toObject()\nprint('OUT')",
  "Deno's commands": "import js\njs.Deno.Command.new('id').outputSync()\nprint('OUT')",
  "Node's process": "import js\njs.process.env\nprint('OUT')",
  "a request": "import js\nawait js.fetch('http://127.0.0.1:1/')\nprint('OUT')",
  "a file by fetch": "import js\nr = await js.fetch('file:///etc/passwd')\nprint('OUT', await r.text())",
  "a WebSocket": "import js\njs.WebSocket.new('ws://127.0.0.1:1/')\nprint('OUT')",
  "a worker of its own": "import js\njs.Worker.new('data:text/javascript,1')\nprint('OUT')",
  "a message in the kernel's name": "import js\njs.postMessage('forged')\nprint('OUT')",
  "the end of its thread": "import js\njs.close()\nprint('OUT')",
  "a store that all sessions share": "import js\nc = await js.caches.open('all')\nprint('OUT')",
  "a driver of the host's GPU": "import js\nprint('OUT', (await js.navigator.gpu.requestAdapter()).info)",
  "a program of its own in the place of Pyodide": `
import asyncio, js, pyodide_js
from pyodide.ffi import to_js
root = pyodide_js.FS.lookupPath('/session').node.mount.opts.root
open('/session/pyodide.mjs', 'w').write('globalThis.OUT = 1; export const loadPyodide = () => new Promise(() => {});')
say = lambda **fields: to_js(fields, dict_converter=js.Object.fromEntries)
js.onmessage(say(data=say(op='start', start=say(pyodide=root))))
await asyncio.sleep(0.3)
print('OUT', js.OUT)`,
  "another root for its folder": `
import pyodide_js
mount = pyodide_js.FS.lookupPath('/session').node.mount
root, mount.opts.root = mount.opts.root, '/etc'
try: print('OUT', open('/session/passwd').read())
finally: mount.opts.root = root`,
  "a file of the host": "print('OUT', open('/etc/passwd').read())",
  "a way up from its folder": "print('OUT', open('/session/../../../../../etc/passwd').read())",
  "a symbolic link": "import os\nos.symlink('/etc', '/session/etc')\nprint('OUT')",
  "a process": "import subprocess\nsubprocess.run(['id'])\nprint('OUT')",
  "a socket": "import socket\nsocket.create_connection(('127.0.0.1', 1), 1)\nprint('OUT')",
  "a thread": "import threading\nthreading.Thread(target=print).start()\nprint('OUT')",
};

describe("code in WebAssembly", () => {
  const { stack, client } = useStack({ agentEnv: { SANDBAR_ENGINE: "wasm", SANDBAR_POOL_SIZE: "0" } });
  let session: string;

  beforeAll(async () => {
    session = (await client.create({ engine: "wasm" })).id;
  }, 120_000);

  for (const [what, code] of Object.entries(ATTEMPTS))
    it(`does not get ${what}`, async () => {
      const { status, stdout, error } = await client.run(session, code, { timeout_s: 10 });
      expect({ status, stdout, error }).toMatchObject({ status: "error", stdout: "" });
      expect((await client.run(session, "print('well')")).stdout).toBe("well\n");
    });

  it("has a wall beneath Deno's: on Linux the system refuses its process links, programs and sockets", async () => {
    const [guest] = await listGuests(stack.home);
    const children = readFileSync(`/proc/${guest!.pid}/task/${guest!.pid}/children`, "utf8")
      .trim()
      .split(" ");
    expect(children).toHaveLength(1);
    for (const thread of readdirSync(`/proc/${children[0]}/task`)) {
      const status = readFileSync(`/proc/${children[0]}/task/${thread}/status`, "utf8");
      expect(status).toMatch(/^NoNewPrivs:\s1$/m);
      expect(status).toMatch(/^Seccomp:\s2$/m);
    }
  });

  it("stands still while nobody reads what it writes past Python, and is heard when it writes little", async () => {
    const code =
      "import js\njs.console.log('beside Python')\nfor _ in range(3000): js.console.log('x' * 10000)";
    const { status, stdout } = await client.run(session, code, { timeout_s: 60 });
    expect(status).toBe("ok");
    expect(stdout).toMatch(/^beside Python\n/);
  });
});
