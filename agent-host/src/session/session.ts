/**
 * One session on this host: its parts, and who of them hears what. Commands are journaled before they come here.
 *
 * @module
 */
import {
  type Cause,
  type GuestMessage,
  SecretValuesSchema,
  type SessionReport,
  type SessionRules,
} from "@sandbar/shared";
import { boxFolder, sessionFiles, sessionFolder } from "../box/box-folders.ts";
import { codeEnv } from "../egress/code-env.ts";
import { SessionNetwork } from "../egress/session-network.ts";
import { authorities, giveTrust, readAuthority } from "../egress/trust.ts";
import type { Box } from "../engine/box.ts";
import { Execution, type ExecutionHost } from "../execution/execution.ts";
import type { ReportWindow } from "../execution/report-window.ts";
import type { GuestHello } from "../guest/guest-channel.ts";
import type { Log } from "../host/log.ts";
import type { ExecutionRow, SessionRow } from "../journal/journal.ts";
import type { PooledBox } from "../pool/pooled-box.ts";
import { CreationWatch } from "./creation-watch.ts";
import { SessionAccess } from "./session-access.ts";
import { SessionDiary } from "./session-diary.ts";
import { SessionEnd } from "./session-end.ts";
import { SessionExecutions } from "./session-executions.ts";
import { SessionGuest } from "./session-guest.ts";
import type { SessionParts } from "./session-parts.ts";
import { SessionReports } from "./session-reports.ts";
import { SessionStart, type Started } from "./session-start.ts";

export class Session {
  readonly row: SessionRow;
  readonly access: SessionAccess;
  readonly executions: SessionExecutions;
  readonly #parts: SessionParts;
  readonly #log: Log;
  readonly #guest: SessionGuest;
  readonly #reports: SessionReports;
  readonly #start: SessionStart;
  readonly #end: SessionEnd;
  /** Only sessions that leave a folder behind have one. */
  readonly #diary: SessionDiary | null;
  readonly #window: ReportWindow;
  readonly #executionHost: ExecutionHost;
  readonly #creation: CreationWatch;
  /** Of sessions with rules. */
  readonly #network: SessionNetwork | null;
  #congested = false;

  /** `cause`: the request that creates it. */
  constructor(row: SessionRow, parts: SessionParts, executions: ExecutionRow[] = [], cause?: Cause) {
    const { config, journal, engine, link, settled, datasets } = parts;
    this.row = row;
    this.#parts = parts;
    this.#log = parts.log.child({ session: row.id, box: row.box });
    this.#creation = new CreationWatch(parts.watchers, row, cause);
    this.#guest = new SessionGuest(config.callTimeoutMs, {
      onHello: (hello) => this.#onHello(hello),
      onMessage: (message) => this.#onMessage(message),
      onDown: () => this.executions.onGuestDown(),
      onProxied: (socket) => (this.#network ? this.#network.serve(socket) : socket.destroy()),
      onLost: (reason) => this.#condemn(reason),
    });
    this.#network = row.spec.rules ? this.#openNetwork(row.spec.rules) : null;
    this.access = new SessionAccess(row, this.#guest, this.#network);
    this.#window = parts.windows.open(() => this.#pause());
    this.#diary = row.spec.storage === "BIND" ? this.#openDiary() : null;
    this.#reports = new SessionReports({ row, journal, link, onState: () => this.#diary?.onState() });
    this.executions = new SessionExecutions(row.id, {
      journal,
      settled,
      isOpen: () => row.state === "ready" && this.#guest.hello !== null,
      beforeExecution: () => datasets.beforeExecution(this.access),
      openContext: (context, language) =>
        this.#guest.send({ type: "context.open", context, language, env: codeEnv(row.spec) }),
      toGuest: (message) => this.#guest.send(message),
    });
    const own = {
      row,
      guest: this.#guest,
      reports: this.#reports,
      log: this.#log,
      makeBox: () => this.#makeBox(),
    };
    this.#start = new SessionStart({
      ...own,
      log: cause ? this.#log.child({ request: cause.request }) : this.#log,
      config,
      journal,
      engine,
      giveTrust: async () => {
        if (row.spec.rules) await giveTrust(boxFolder(config.home, row.box), row.id, config.caBundle);
      },
      snapshots: parts.snapshots,
      access: this.access,
      openContext: (name, language) => this.executions.openContext(name, language),
      onReady: (started) => this.#onReady(started),
      onFailed: (failure) => {
        this.#creation.failed(failure.code);
        return this.#end.fail(failure);
      },
    });
    this.#end = new SessionEnd({
      ...own,
      start: this.#start,
      executions: this.executions,
      access: this.access,
      artifacts: parts.artifacts,
      removals: parts.removals,
      files: sessionFiles(config, row),
      removeSandbox: async () => {
        if (this.sandbox) await engine.remove(this.sandbox);
      },
      onOver: () => void this.#settleFolder(),
      linked: () => link.up,
    });
    this.#executionHost = this.#hostExecutions();
    for (const execution of executions)
      this.executions.add(new Execution(execution, this.#executionHost, true));
  }

  get terminal(): boolean {
    return this.#reports.terminal;
  }

  get sandbox(): string | null {
    return this.#guest.sandbox ?? this.row.sandbox;
  }

  // Coming to be

  create(pooled: PooledBox | null): void {
    this.#creation.began();
    this.#start.create(pooled);
  }

  recreate(leftovers: readonly string[]): void {
    this.#start.recreate(leftovers);
  }

  /** The sandbox runs; its guest dials as soon as the socket is back. */
  async adopt(sandbox: string): Promise<void> {
    await this.#guest.adopt(this.#makeBox(), sandbox);
    this.#log.info({ executions: this.executions.size }, "adopted");
  }

  #onReady({ hello, image, claimed, restored }: Started): void {
    const { languages } = hello;
    this.#reports.set({ state: "ready", languages, image, ...(restored ? { restored } : {}) });
    this.#creation.ready(claimed);
    if (claimed) this.executions.onHello(hello);
    else this.executions.pump();
  }

  #makeBox(): Box {
    const { box: id, spec, token } = this.row;
    const listener = this.#guest.boxListener();
    return this.#parts.engine.box({ id, session: this.row, spec, token, log: this.#log, listener });
  }

  #openNetwork(rules: SessionRules): SessionNetwork {
    const { config, link, network, plane } = this.#parts;
    const { id: session, tenant } = this.row;
    return new SessionNetwork({
      ...network,
      rules,
      authority: () => readAuthority(boxFolder(config.home, this.row.box)),
      trusted: () => authorities(config.caBundle),
      askSecrets: async () =>
        SecretValuesSchema.parse(
          await plane.request({ tenant, session }, "POST", "/agent/secrets", { session }),
        ),
      tell: (connections, dropped, carried) => {
        link.send({ t: "network", session, connections, dropped, carried });
        if (connections.length > 0) this.#log.debug({ connections, dropped }, "network");
      },
    });
  }

  /** They are in the journal already. */
  setRules(rules: SessionRules): void {
    if (this.#network) this.#network.rules = rules;
  }

  #openDiary(): SessionDiary {
    return new SessionDiary({
      row: this.row,
      folder: sessionFolder(this.#parts.config.sessionsRoot, this.row.id),
      log: this.#log,
      askState: (context) => this.#guest.call("state", { context }),
    });
  }

  /** When the box is still there the sweep does it. */
  async #settleFolder(): Promise<void> {
    const { removals, leftFolders } = this.#parts;
    if (!this.#diary || removals.owns(this.row.box)) return;
    await this.#diary.written();
    await leftFolders
      .over(this.row.id)
      .catch((error) => this.#log.warn({ err: error }, "the session's folder is left to the sweep"));
  }

  // The guest

  #onHello(hello: GuestHello): void {
    if (this.#start.pending) {
      this.#start.onHello(hello);
      return;
    }
    if (this.#guest.adopted) this.#start.giveEnv();
    for (const { context, lost } of hello.contexts) this.#reports.lost(context, lost);
    this.executions.onHello(hello);
  }

  #onMessage(message: GuestMessage): void {
    if (message.type === "event") {
      const execution = this.executions.get(message.execution);
      if (execution && !execution.finished) this.#diary?.onEvent(message.execution, message.event);
      execution?.onEvent(message.event);
      if (execution && message.event.type === "done" && message.event.lost)
        this.#reports.lost(execution.context, null);
    } else if (message.type === "context") {
      this.#start.onContext(message);
      this.#reports.lost(message.context, message.lost);
    }
  }

  /** The sandbox does not obey: it ends, and everything in it. */
  #condemn(reason: string): void {
    this.#log.warn({ reason }, "ending a sandbox that does not obey");
    this.died(reason);
  }

  pause(congested: boolean): void {
    this.#congested = congested;
    this.#pause();
  }

  #pause(): void {
    this.#guest.pause(this.#congested || this.#window.full);
  }

  // Executions

  run(row: ExecutionRow): void {
    this.executions.add(new Execution(row, this.#executionHost, false));
    this.executions.pump();
  }

  #hostExecutions(): ExecutionHost {
    const { config, journal, link, artifacts, watchers } = this.#parts;
    return {
      config,
      watchers,
      journal,
      storage: this.row.spec.storage,
      window: this.#window,
      get linked() {
        return link.up;
      },
      toServer: (text) => link.sendText(text),
      toGuest: (message) => this.#guest.send(message),
      ping: () => this.#guest.call("ping", {}),
      condemn: (reason) => this.#condemn(reason),
      ingest: (execution, entries, ledger) =>
        artifacts.take(this.access, execution, entries, this.#end.leaving, ledger),
      onFinished: ({ row }) => {
        this.#diary?.onFinished(row);
        if (row.outcome) watchers.figures.ended(row.outcome);
        // Not now: the outcome of the one that finished leaves first.
        setImmediate(() => this.executions.pump());
      },
    };
  }

  // The control plane

  inventory(brief: boolean): { session: string; report: SessionReport } {
    return this.#reports.inventory(brief);
  }

  onWelcome(): void {
    this.executions.onWelcome();
    this.#reports.onWelcome();
  }

  tell(): void {
    this.#reports.tell();
  }

  // Ceasing to be

  stop(reason: string): Promise<void> {
    return this.#end.stop(reason);
  }

  drain(): Promise<void> {
    return this.#end.drain();
  }

  died(reason: string): void {
    this.#end.died(reason);
  }
}
