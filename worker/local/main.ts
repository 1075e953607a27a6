/**
 * `node worker/local/main.ts`: serves until SIGTERM or SIGINT. Prints `{"url", "key_file"}` on stdout once it serves.
 *
 * @module
 */
import { resolve } from "node:path";
import { startLocalServer } from "./server.ts";

const WORKERD_CHECK_MS = 500;
const MODEL_VARS = [
  ...["SANDBAR_MODEL", "SANDBAR_MODEL_BASE_URL", "SANDBAR_MODEL_API_KEY", "SANDBAR_MODEL_PRIVATE_URLS"],
  ...["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY"],
  ...["XAI_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_BASE_URL"],
];

/** Known by these names to whatever exports traces. */
const TRACE_VARS = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_TRACES_SAMPLER_ARG"];

const vars: Record<string, string> = {};
for (const [name, value] of Object.entries(process.env))
  if (name.startsWith("SANDBAR_VAR_") && value !== undefined) vars[name.slice("SANDBAR_VAR_".length)] = value;

// The agent's model and keys have the names that others use for them too.
for (const name of [...MODEL_VARS, ...TRACE_VARS]) if (process.env[name]) vars[name] ??= process.env[name];

const server = await startLocalServer({
  home: resolve(process.env.SANDBAR_HOME ?? ".sandbar"),
  host: process.env.SANDBAR_HOST ?? "127.0.0.1",
  port: Number(process.env.SANDBAR_PORT ?? 8787),
  vars,
  inspectorPort: process.env.SANDBAR_INSPECTOR_PORT ? Number(process.env.SANDBAR_INSPECTOR_PORT) : undefined,
});

let stopping = false;
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.on(signal, async () => {
    if (stopping) return;
    stopping = true;
    await server.close();
    process.exit(0);
  });

// Miniflare does not restart a workerd that died; ending with it lets the supervisor start both anew.
setInterval(() => {
  if (stopping || server.workerdPid === null) return;
  try {
    process.kill(server.workerdPid, 0);
  } catch {
    console.error(`workerd (pid ${server.workerdPid}) died`);
    process.exit(1);
  }
}, WORKERD_CHECK_MS);

process.stdout.write(
  `${JSON.stringify({ url: server.url, key_file: server.keyFile, workerd_pid: server.workerdPid })}\n`,
);
