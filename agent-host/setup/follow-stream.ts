import type Docker from "dockerode";

export type EngineMessage = { stream?: string; status?: string; error?: string };

/** Reads an engine's answer to its end. The engine says 200 before it works, so a failure is a message in it. */
export async function followStream(
  docker: Docker,
  stream: NodeJS.ReadableStream,
  onMessage: (message: EngineMessage) => void,
): Promise<void> {
  let failure: string | undefined;
  await new Promise<void>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error) => (error ? reject(error) : resolve()),
      (message: EngineMessage) => {
        failure ??= message.error;
        onMessage(message);
      },
    );
  });
  if (failure !== undefined) throw new Error(failure.trim());
}
