import type { SessionRecord } from "@sandbar/sdk";
import { QueryClient } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";
import { keys } from "./keys.ts";
import { applyEvent } from "./live-cache.ts";

const session = (id: string, status: SessionRecord["status"] = "ready") => ({ id, status }) as SessionRecord;
const told = (data: SessionRecord) => ({ type: "session" as const, id: "1", data });

describe("an event about a session", () => {
  it("changes it where it stands in the list, and in its own room", () => {
    const client = new QueryClient();
    client.setQueryData(keys.sessions, [session("ses_a"), session("ses_b")]);
    client.setQueryData(keys.session("ses_b"), session("ses_b"));
    applyEvent(client, told(session("ses_b", "busy")));
    expect(client.getQueryData(keys.sessions)).toEqual([session("ses_a"), session("ses_b", "busy")]);
    expect(client.getQueryData(keys.session("ses_b"))).toEqual(session("ses_b", "busy"));
  });

  it("puts a new one first", () => {
    const client = new QueryClient();
    client.setQueryData(keys.sessions, [session("ses_a")]);
    applyEvent(client, told(session("ses_b", "creating")));
    expect(client.getQueryData<SessionRecord[]>(keys.sessions)?.map(({ id }) => id)).toEqual([
      "ses_b",
      "ses_a",
    ]);
  });

  it("invents no list and no room that nobody has read", () => {
    const client = new QueryClient();
    applyEvent(client, told(session("ses_a")));
    expect(client.getQueryData(keys.sessions)).toBeUndefined();
    expect(client.getQueryData(keys.session("ses_a"))).toBeUndefined();
  });
});

it("knows by its executions who is busy", () => {
  const client = new QueryClient();
  client.setQueryData(keys.sessions, [session("ses_a"), session("ses_b", "stopping")]);
  const told = (id: string, execution: string, state: "started" | "ended") =>
    applyEvent(client, { type: "execution", id: "1", data: { session: id, execution, state } } as never);
  const states = () => client.getQueryData<SessionRecord[]>(keys.sessions)?.map(({ status }) => status);
  told("ses_a", "1", "started");
  told("ses_a", "2", "started");
  told("ses_b", "3", "started");
  expect(states()).toEqual(["busy", "stopping"]);
  told("ses_a", "1", "ended");
  expect(states()).toEqual(["busy", "stopping"]);
  told("ses_a", "2", "ended");
  expect(states()).toEqual(["ready", "stopping"]);
});
