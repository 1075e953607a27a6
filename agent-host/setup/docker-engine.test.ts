import { expect, test } from "vitest";
import { isElsewhere } from "./docker-engine.ts";

test("an engine behind an address of its own is another machine's", () => {
  for (const here of [
    "unix:///var/run/docker.sock",
    "/run/docker.sock",
    "tcp://127.0.0.1:2375",
    "tcp://[::1]:2375",
  ])
    expect([here, isElsewhere(here)]).toEqual([here, false]);
  for (const there of [
    "ssh://me@localhost",
    "ssh://vps",
    "tcp://10.0.0.7:2376",
    "https://docker.example.com",
  ])
    expect([there, isElsewhere(there)]).toEqual([there, true]);
});
