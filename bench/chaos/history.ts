/**
 * Whether a history is one that the product may have. Each operation runs code once that writes the operation's name
 * into a ledger in its sandbox. Clients say what they were answered, the sessions' journals what they have on record,
 * the ledgers what really ran.
 *
 * @module
 */

/** What a client knows in the end of something that it asked for. */
export type Answer =
  /** Its code ran to its end, says the answer. */
  | { readonly is: "done"; readonly status: string; readonly stdout: string }
  /** It was refused for good, and nothing of it may have run. */
  | { readonly is: "refused"; readonly code: string }
  /** The client gave up asking. */
  | { readonly is: "unknown" };

export interface Operation {
  readonly session: string;
  /** Unique over the whole history. */
  readonly name: string;
  readonly answer: Answer;
}

export interface Recorded {
  readonly execution: string;
  readonly operation: string;
  readonly status: string;
}

export interface SessionHistory {
  readonly session: string;
  /** In the order in which clients asked, one after another. */
  readonly operations: readonly Operation[];
  /** The oldest first. */
  readonly journal: readonly Recorded[];
  /** Names in the order in which code wrote them; null when the sandbox was lost with its files. */
  readonly ledger: readonly string[] | null;
}

const ENDED = new Set(["ok", "error", "timeout", "interrupted", "died", "unknown"]);

/** What is wrong with it, in words; empty when nothing is. */
export function violations({ session, operations, journal, ledger }: SessionHistory): string[] {
  const wrong: string[] = [];
  const say = (what: string) => wrong.push(`${session}: ${what}`);
  const asked = new Map(operations.map((operation) => [operation.name, operation]));
  const records = Map.groupBy(journal, ({ operation }) => operation);
  const ran = Map.groupBy(ledger ?? [], (name) => name);

  for (const [name, times] of ran) {
    if (!asked.has(name)) say(`${name} ran, and nobody asked for it`);
    if (times.length > 1) say(`${name} ran ${times.length} times`);
    if (!records.has(name)) say(`${name} ran, and the journal does not know it`);
  }
  for (const [name, found] of records) {
    if (!asked.has(name)) say(`${name} is on record, and nobody asked for it`);
    if (found.length > 1) say(`${name} has ${found.length} records`);
    for (const { status } of found) {
      if (!ENDED.has(status)) say(`${name} is still ${status}`);
      if (status === "ok" && ledger && !ran.has(name)) say(`${name} is on record as ok, and did not run`);
    }
  }
  for (const { name, answer } of operations) {
    const [record] = records.get(name) ?? [];
    if (answer.is === "done") {
      if (!record) say(`${name} was answered as ${answer.status}, and has no record`);
      else if (record.status !== answer.status)
        say(`${name} was answered as ${answer.status}, and is on record as ${record.status}`);
      if (answer.status === "ok" && answer.stdout.trim() !== name)
        say(`${name} was answered with the output ${JSON.stringify(answer.stdout)}`);
    }
    if (answer.is === "refused" && (ran.has(name) || record))
      say(`${name} was refused (${answer.code}), and ${ran.has(name) ? "ran" : "is on record"}`);
  }
  if (ledger) {
    const order = operations.map(({ name }) => name).filter((name) => ran.has(name));
    const first = ledger.filter((name, at) => asked.has(name) && ledger.indexOf(name) === at);
    if (order.join() !== first.join()) say(`they ran in another order: ${first.join()}`);
  }
  return wrong;
}

export interface Tally {
  readonly operations: number;
  readonly ok: number;
  readonly ended_otherwise: Readonly<Record<string, number>>;
  readonly refused: number;
  readonly unknown: number;
  readonly ran: number;
  readonly ledgers_lost: number;
}

/** How many there were of each, so that a history that proves nothing is seen to prove nothing. */
export function tally(histories: readonly SessionHistory[]): Tally {
  const answers = histories.flatMap(({ operations }) => operations.map(({ answer }) => answer));
  const ended_otherwise: Record<string, number> = {};
  for (const answer of answers)
    if (answer.is === "done" && answer.status !== "ok")
      ended_otherwise[answer.status] = (ended_otherwise[answer.status] ?? 0) + 1;
  return {
    operations: answers.length,
    ok: answers.filter((answer) => answer.is === "done" && answer.status === "ok").length,
    ended_otherwise,
    refused: answers.filter(({ is }) => is === "refused").length,
    unknown: answers.filter(({ is }) => is === "unknown").length,
    ran: histories.reduce((sum, { ledger }) => sum + (ledger?.length ?? 0), 0),
    ledgers_lost: histories.filter(({ ledger }) => ledger === null).length,
  };
}
