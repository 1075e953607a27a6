/** @module Which host gets a session. */
import {
  type Capability,
  type Capacity,
  ENGINES,
  type EngineChoice,
  type EngineName,
  type EngineOffer,
  EngineSchema,
  type Isolation,
  type Language,
  lackOf,
  USUAL_ENGINE,
  unsupportedBy,
} from "@sandbar/shared";

export interface Candidate {
  readonly id: string;
  readonly status: "joining" | "online" | "unreachable" | "lost";
  readonly cordoned: boolean;
  readonly capacity: Capacity | null;
  readonly sessions: number;
  readonly reserved_mb: number;
  /** Of these, the tenant's for whom a place is looked for. */
  readonly own?: { readonly sessions: number; readonly memory_mb: number } | undefined;
}

export interface Need {
  readonly runtime: Language;
  /** Images of the caller's own bring their runtime with them. */
  readonly image: string | null;
  readonly engine: EngineChoice;
  /** What the session must have, whichever engine it gets. */
  readonly capabilities: readonly Capability[];
  readonly memory_mb: number | null;
  readonly cpus?: number | null;
  /** What a session gets at most that asks for nothing. */
  readonly most?: { readonly memory_mb?: number | undefined; readonly cpus?: number | undefined };
  /** The wall that the tenant's policy demands. */
  readonly isolation?: Isolation | null;
  /** Of one host's sessions and memory, what one tenant may have. */
  readonly host_percent?: number;
  /** The only host that will do. */
  readonly host?: string | null;
}

export interface Placement {
  readonly host: string;
  readonly memory_mb: number;
  readonly cpus: number;
}

export interface Refusal {
  readonly reason: string;
  /** No session that ends makes room enough. */
  readonly never?: true;
  /** No engine of these hosts can do what is asked for. */
  readonly unsupported?: true;
  /** There is room, but the tenant has its part. */
  readonly share?: true;
}

const FALLBACK_MEMORY_MB = 1024;
const FALLBACK_CPUS = 1;

/** What a host offers; daemons that say nothing of engines have containers. */
export function offersOf({ capacity }: Pick<Candidate, "capacity">): readonly EngineOffer[] {
  const usual = {
    engine: USUAL_ENGINE,
    runtimes: capacity?.runtimes ?? [],
    capabilities: [...ENGINES[USUAL_ENGINE].capabilities],
  };
  return capacity?.engines ?? [usual];
}

/** Containers first. */
const enginesOf = ({ engine }: Need): readonly EngineName[] =>
  engine === "any" ? EngineSchema.options : [engine];

/** With what a host would run the session: the same answer each time, since its engines share one capacity. */
export function offerFor(host: Candidate, need: Need): EngineOffer | null {
  const offers = offersOf(host);
  for (const engine of enginesOf(need)) {
    const offer = offers.find((one) => one.engine === engine && canRun(one, need));
    if (offer) return offer;
  }
  return null;
}

/** The least loaded host that fits, containers first; or in words why none does. */
export function place(hosts: readonly Candidate[], need: Need): Placement | Refusal {
  if (need.host) return placeOn(hosts, need, need.host);
  const engines = enginesOf(need);
  if (engines.every((engine) => lackOf(engine, need).length > 0))
    return { reason: unsupportedBy(engines[0]!, lackOf(engines[0]!, need)), unsupported: true };
  if (hosts.length === 0) return { reason: "No host has joined" };
  const online = hosts.filter((host) => host.status === "online");
  if (online.length === 0) return { reason: "No host is online" };
  const open = online.filter((host) => !host.cordoned);
  if (open.length === 0) return { reason: "Every online host is cordoned" };
  const taking = open.filter(({ capacity }) => capacity?.refuses === undefined);
  if (taking.length === 0) return { reason: `No host takes new sessions: ${open[0]!.capacity!.refuses}` };
  const offered = engines.filter((engine) => hosts.some((host) => offerOf(host, engine)));
  const refusals: Refusal[] = [];
  for (const engine of offered) {
    const placed = placeWith(engine, taking, need);
    if (!("reason" in placed)) return placed;
    refusals.push(placed);
  }
  return (
    refusals.find(({ unsupported }) => !unsupported) ??
    refusals[0] ?? { reason: `No host has ${engines.map((engine) => ENGINES[engine].title).join(" or ")}` }
  );
}

const offerOf = (host: Candidate, engine: EngineName) =>
  offersOf(host).find((offer) => offer.engine === engine);

function placeWith(engine: EngineName, open: readonly Candidate[], need: Need): Placement | Refusal {
  const having = open.filter((host) => offerOf(host, engine));
  const lacks = having.map((host) => lackOf(engine, need, offerOf(host, engine)!.capabilities));
  if (lacks.length > 0 && lacks.every((lack) => lack.length > 0))
    return { reason: unsupportedBy(engine, lacks[0]!), unsupported: true };
  if (having.length > 0 && !having.some((host) => hasWall(offerOf(host, engine)!, need)))
    return { reason: `No host has the isolation ${need.isolation}, which the tenant's policy demands` };
  const able = having.filter((host) => host.capacity && canRun(offerOf(host, engine)!, need));
  if (able.length === 0) return { reason: `No host has the runtime ${need.runtime} ready` };
  const most = Math.max(...able.map((host) => host.capacity!.memory_mb));
  if (need.memory_mb !== null && need.memory_mb > most)
    return {
      reason: `limits.memory_mb is ${need.memory_mb}, and no host has more than ${most}`,
      never: true,
    };
  const fitting = able.filter((host) => fits(host, need));
  if (fitting.length === 0) return { reason: fullness(able, need) };
  const sharing = fitting.filter((host) => withinShare(host, need));
  if (sharing.length === 0)
    return {
      reason: `host_percent: while there are other tenants, one may have ${need.host_percent} % of a host's sessions and memory`,
      share: true,
    };
  const best = sharing.reduce((a, b) => (compareLoad(a, b, need) <= 0 ? a : b));
  return { host: best.id, memory_mb: memoryFor(best, need), cpus: cpusFor(best, need) };
}

/** Volumes cannot move, so neither can sessions that mount them. */
function placeOn(hosts: readonly Candidate[], need: Need, id: string): Placement | Refusal {
  const host = hosts.find((candidate) => candidate.id === id);
  const { host: _, ...rest } = need;
  const placed: Placement | Refusal = host ? place([host], rest) : { reason: "It was removed" };
  return "reason" in placed
    ? {
        ...placed,
        reason: `The session's volume lies on the host ${id}, which cannot take it: ${placed.reason}`,
      }
    : placed;
}

function hasWall({ engine, isolation = "container" }: EngineOffer, need: Need): boolean {
  return !need.isolation || (engine === "container" && isolation === need.isolation);
}

function canRun(offer: EngineOffer, need: Need): boolean {
  const { engine, runtimes, capabilities } = offer;
  if (!hasWall(offer, need)) return false;
  if (lackOf(engine, need, capabilities).length > 0) return false;
  // What an image of the caller's own can run, its host finds out.
  if (need.image !== null) return true;
  // Bash is in every image.
  if (need.runtime === "bash") return runtimes.length > 0;
  return runtimes.includes(need.runtime);
}

function fits(host: Candidate, need: Need): boolean {
  const { max_sessions, memory_mb } = host.capacity!;
  return host.sessions < max_sessions && host.reserved_mb + memoryFor(host, need) <= memory_mb;
}

/** How full they are, since that says whether to wait or to add a host. */
function fullness(hosts: readonly Candidate[], need: Need): string {
  const sum = (of: (host: Candidate) => number) => hosts.reduce((total, host) => total + of(host), 0);
  const sessions = `${sum(({ sessions }) => sessions)} of ${sum(({ capacity }) => capacity!.max_sessions)} sessions`;
  const memory = `${sum(({ reserved_mb }) => reserved_mb)} of ${sum(({ capacity }) => capacity!.memory_mb)} MB`;
  const wanted = Math.min(...hosts.map((host) => memoryFor(host, need)));
  return `Every host is full: ${sessions} and ${memory} are taken, and this one needs ${wanted} MB`;
}

/** One session fits into every share: of a host that has room for one only, a part would be nothing. */
function withinShare(host: Candidate, need: Need): boolean {
  const { host_percent = 100 } = need;
  const { own = { sessions: 0, memory_mb: 0 } } = host;
  const { max_sessions, memory_mb } = host.capacity!;
  const part = (whole: number) => Math.floor((whole * host_percent) / 100);
  return (
    own.sessions + 1 <= Math.max(1, part(max_sessions)) &&
    own.memory_mb + memoryFor(host, need) <= part(memory_mb)
  );
}

function memoryFor(host: Candidate, need: Need): number {
  const usual = host.capacity?.default_limits?.memory_mb ?? FALLBACK_MEMORY_MB;
  return need.memory_mb ?? Math.min(usual, need.most?.memory_mb ?? usual);
}

function cpusFor(host: Candidate, need: Need): number {
  const usual = host.capacity?.default_limits?.cpus ?? FALLBACK_CPUS;
  return need.cpus ?? Math.min(usual, need.most?.cpus ?? usual);
}

function compareLoad(a: Candidate, b: Candidate, need: Need): number {
  return load(a, need) - load(b, need) || (a.id < b.id ? -1 : 1);
}

/** The scarcer of the two resources, after the session was placed. */
function load(host: Candidate, need: Need): number {
  const { max_sessions, memory_mb } = host.capacity!;
  return Math.max((host.sessions + 1) / max_sessions, (host.reserved_mb + memoryFor(host, need)) / memory_mb);
}
