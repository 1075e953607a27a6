import { sandbar } from "../../api/client.ts";

const AT_ONCE = 8;

/** Stops them, a few at a time. Throws the first failure when all have been tried. */
export async function stopSessions(ids: readonly string[]): Promise<void> {
  const left = [...ids];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let id = left.pop(); id !== undefined; id = left.pop())
      await sandbar.stopSession(id).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (failures.length > 0) throw failures[0];
}
