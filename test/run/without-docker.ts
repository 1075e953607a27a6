/** @module Which end-to-end tests need no containers, so that they run on a machine without Docker too. */

export const WITHOUT_DOCKER = [
  "test/wasm/",
  "test/cli/start-without-docker.test.ts",
  "test/agents/mcp-conformance.test.ts",
  "test/docs/examples-docs.test.ts",
  "test/chat/models.test.ts",
  "test/chat/threads.test.ts",
];

export const needsDocker = (file: string) => !WITHOUT_DOCKER.some((part) => file.includes(`/${part}`));

/** In CI a test that is left out is a test that nobody sees fail. */
export function mayLeaveOut(lacking: string, ci: boolean): void {
  if (ci)
    throw new Error(`With CI=true nothing is skipped, and the end-to-end tests need Docker: ${lacking}`);
}
