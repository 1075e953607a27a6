/** Runs, interrupts and restarts while objects are reset and hibernate and the link is cut, in any order. */
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import type { Execution } from "@sandbar/shared";
import { expect, it } from "vitest";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { bindings, Client } from "./client.ts";
import { onlyHost, outcome, printed, until } from "./fake-daemon.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const SEEDS = 8;

for (let seed = 1; seed <= SEEDS; seed++)
  it(`every run starts once and ends once, no command overtakes (seed ${seed})`, {
    timeout: 60_000,
  }, async () => {
    const next = seededRandom(seed);
    const daemon = await onlyHost();
    const client = await Client.of("acme");
    const sessions = [(await client.session()).id, (await client.session()).id];
    const ended = new Map<string, { session: string; at: number }>();
    const starts = new Map<string, number>();
    const finalAcks = () =>
      new Set(daemon.frames.flatMap((frame) => (frame.t === "ack" && frame.final ? [frame.execution] : [])));
    const report = (execution: string, session: string) =>
      daemon.events(session, execution, printed("x"), outcome({ last_seq: 2 }));
    daemon.onRun = (run, session) => {
      starts.set(run.execution, (starts.get(run.execution) ?? 0) + 1);
      setTimeout(() => {
        ended.set(run.execution, { session, at: Date.now() });
        report(run.execution, session);
      }, next() * 20);
    };
    const submitted: { session: string; id: string }[] = [];
    const work: Promise<unknown>[] = [];
    const stub = (session: string) => bindings.SESSIONS.getByName(`acme/${session}`);
    const host = () => bindings.HOSTS.getByName(daemon.host);
    const cut = async () => {
      // What still comes on the old socket is not heard.
      daemon.deaf = true;
      daemon.disconnect();
      await pause(5 + next() * 10);
      daemon.deaf = false;
      await daemon.connect();
      const acked = finalAcks();
      for (const [execution, { session }] of ended) if (!acked.has(execution)) report(execution, session);
    };
    let linked = true;
    for (let step = 0; step < 60; step++) {
      const session = sessions[Math.floor(next() * sessions.length)]!;
      const dice = next();
      if (dice < 0.45) {
        const language = next() < 0.5 ? "python" : "bash";
        const one = client.submit(session, `cell ${step}`, { language }).then(({ status, body }) => {
          if (status < 300) submitted.push({ session, id: body.id });
        });
        if (next() < 0.5) await one;
        else work.push(one);
      } else if (dice < 0.6 && submitted.length > 0) {
        const { session: of, id } = submitted[Math.floor(next() * submitted.length)]!;
        const one = client.call("POST", `/v1/sessions/${of}/executions/${id}/interrupt`);
        if (next() < 0.5) await one;
        else work.push(one);
      } else if (dice < 0.68) await evictDurableObject(host()).catch(() => undefined);
      else if (dice < 0.74) {
        await evictDurableObject(host(), { webSockets: "close" }).catch(() => undefined);
        linked = false;
      } else if (dice < 0.8) daemon.deaf = true;
      else if (dice < 0.86)
        await runInDurableObject(stub(session), (_, ctx) => ctx.abort("x")).catch(() => undefined);
      else if (dice < 0.92) {
        work.push(client.call("POST", `/v1/sessions/${session}/contexts/python/restart`));
      } else if (dice < 0.98) {
        await cut();
        linked = true;
      } else await pause(next() * 30);
      if ((!linked || daemon.closed) && next() < 0.4) {
        await cut();
        linked = true;
      }
    }
    await Promise.all(work);
    await cut();
    for (const { session, id } of submitted)
      await until(async () => {
        const { body } = await client.call<Execution>("GET", `/v1/sessions/${session}/executions/${id}`);
        return body.status === "ok" || body.status === "interrupted";
      }).catch(() => {
        throw new Error(`${id} never ended; started ${starts.get(id) ?? 0} times`);
      });
    expect([...starts.values()].filter((times) => times > 1)).toEqual([]);
    expect(daemon.gaps).toEqual([]);
    const seen = new Set<string>();
    for (const { command } of daemon.commands) {
      if (command.type === "run") seen.add(command.execution);
      if (command.type === "interrupt") expect(seen.has(command.execution)).toBe(true);
    }
  });
