import { spawn } from "node:child_process";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const PASS = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
];

/** The rest of the suite asks for things that this server does not have, and says so in its capabilities. */
const NOT_APPLICABLE = {
  "calls tools of the suite's own example server (test_simple_text and others)": [
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
  ],
  "reads resources of the example server (test://…)": [
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
  ],
  "needs prompts": [
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
  ],
  "needs completion": ["completion-complete"],
  "needs log levels": ["logging-set-level"],
  "needs subscriptions, and streams that the server stores": [
    "resources-subscribe",
    "resources-unsubscribe",
    "server-sse-polling",
  ],
};

describe("the official conformance suite against the running product", () => {
  const { stack } = useStack({ withoutAgent: true });
  let proxy: Server;
  let url: string;

  // The suite cannot send an API key, so this adds one, and nothing else.
  beforeAll(async () => {
    proxy = createServer((incoming, answer) => {
      const { method, headers, url: path } = incoming;
      const onward = request({
        host: "127.0.0.1",
        port: stack.port,
        path,
        method,
        headers: { ...headers, authorization: `Bearer ${stack.key}` },
      });
      onward.on("response", (response) => {
        answer.writeHead(response.statusCode!, response.headers);
        response.pipe(answer);
      });
      onward.on("error", () => answer.destroy());
      answer.on("close", () => onward.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
  });
  afterAll(async () => {
    proxy?.closeAllConnections();
    proxy?.close();
  });

  it.each(PASS)("%s", async (scenario) => {
    const { code, output } = await conformance("server", "--url", url, "--scenario", scenario);
    expect(output).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed/);
    expect(code, output).toBe(0);
  });

  it("no scenario is forgotten", async () => {
    const { output } = await conformance("list", "--server");
    const scenarios = [...output.matchAll(/^ +- ([\w-]+)/gm)].map(([, name]) => name);
    expect(scenarios.sort()).toEqual([...PASS, ...Object.values(NOT_APPLICABLE).flat()].sort());
  });
});

async function conformance(...args: string[]): Promise<{ code: unknown; output: string }> {
  const cli = join(REPO, "test/node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const child = spawn(process.execPath, [cli, ...args]);
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, output };
}
