/** @module How programs reach this very session. */
import type { SessionRecord } from "@sandbar/sdk";

const HELLO: Record<SessionRecord["runtime"], string> = {
  python: "print(6 * 7)",
  node: "console.log(6 * 7)",
  r: "print(6 * 7)",
  bash: "echo $((6 * 7))",
};

export function sessionSnippets(
  url: string,
  { id, runtime }: Pick<SessionRecord, "id" | "runtime">,
): { id: string; label: string; code: string }[] {
  const hello = HELLO[runtime];
  return [
    {
      id: "curl",
      label: "curl",
      code: `curl -s ${url}/v1/sessions/${id}/executions \\
  -H "Authorization: Bearer $SANDBAR_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"code": "${hello}"}'`,
    },
    {
      id: "typescript",
      label: "TypeScript",
      code: `import { Sandbar } from "@sandbar/sdk";

const client = new Sandbar({ url: "${url}", apiKey: process.env.SANDBAR_API_KEY! });
const session = await client.getSession("${id}");
const { stdout } = await session.run(${JSON.stringify(hello)});`,
    },
    {
      id: "python",
      label: "Python",
      code: `from sandbar import Sandbar

client = Sandbar("${url}", api_key="sbk_…")
session = client.get_session("${id}")
print(session.run(${JSON.stringify(hello)}).stdout)`,
    },
    {
      id: "cli",
      label: "Command line",
      code: `SANDBAR_URL=${url} npx sandbar run --session ${id} -c '${hello}'`,
    },
  ];
}
