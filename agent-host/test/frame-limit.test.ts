import { FRAME_LIMIT_BYTES } from "@sandbar/shared";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DaemonProcess } from "./daemon-process.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

let plane: FakeControlPlane;
let daemon: DaemonProcess;
beforeAll(async () => {
  plane = await FakeControlPlane.start();
  daemon = await DaemonProcess.start(plane);
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
});

/** A character that JSON writes as six, in names as long as they may be. */
const LONG_NAMES = `
import os
os.makedirs("/session/artifacts", exist_ok=True)
os.chdir("/session/artifacts")
for _ in range(14):
    os.mkdir("\\x01" * 250)
    os.chdir("\\x01" * 250)
for i in range(150):
    os.symlink("x", "\\x01" * 200 + str(i))
os.chdir("/session")
`;

it("names of artifacts that nobody wants do not make a frame that the control plane refuses", async () => {
  const session = await daemon.createSession();
  const execution = daemon.run(session, LONG_NAMES);
  expect(await daemon.outcome(execution)).toMatchObject({ status: "ok" });
  const lengths = plane.frames.map((frame) => JSON.stringify(frame).length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(FRAME_LIMIT_BYTES);
  await daemon.stopSession(session);
});
