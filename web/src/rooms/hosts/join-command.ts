/** The one command by which a machine joins and runs. The token is of our own alphabet, the origin of the browser's. */
export function joinCommand(origin: string, token: string): string {
  const node = "node cli/setup/toolchain.mjs exec node";
  return [
    `${node} \\\n  agent-host/setup/images.ts python node r`,
    `${node} agent-host/src/main.ts \\\n  join ${origin} ${token}`,
    `${node} agent-host/src/main.ts run`,
  ].join(" &&\n");
}
