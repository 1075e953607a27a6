/** @module What `npm test` was asked for. */

export const STAGES = ["format", "lint", "types", "unit", "build", "workerd", "e2e"] as const;
export type Stage = (typeof STAGES)[number];

export const HELP = `Usage: npm test [-- [options] [files or other arguments of vitest]]

Runs these stages in turn, and stops after the first that fails:
  format    Biome's formatter
  lint      Biome's rules
  types     the TypeScript compiler
  unit      tests beside the code, without I/O worth waiting for
  build     the Worker as Cloudflare would get it (wrangler dry run)
  workerd   Durable Objects in the real runtime
  e2e       the whole product with real containers; those are skipped, and counted, where Docker is not to be had

  --stage NAME     only this stage; may be given more than once, or as a list: unit,workerd
  --changed[=REV]  only tests of what the branch and the working tree change (since REV), with format, lint and types
  --help           this

npm test -- test/sessions/six-modes.test.ts          one file
npm test -- --stage unit backoff                     unit tests whose path has "backoff"
npm test -- test/docs/examples-docs.test.ts -u       writes its snapshots again

With CI=true a test that needs its second attempt fails the run, and so does a missing Docker.
`;

export interface Wanted {
  readonly help: boolean;
  readonly stages: readonly Stage[];
  /** Since which revision; "" when the branch's own beginning is to be found. */
  readonly changed: string | null;
  /** Filters and options, for vitest as they are. */
  readonly vitest: readonly string[];
}

/** Filters and vitest's options choose tests, so they leave out the stages that have none. */
export function wantedBy(args: readonly string[]): Wanted {
  const named: Stage[] = [];
  const vitest: string[] = [];
  let changed: string | null = null;
  for (let i = 0; i < args.length; i++) {
    const [name, value] = args[i]!.split(/=(.*)/s);
    if (name === "--stage") named.push(...stagesIn(value ?? args[++i] ?? ""));
    else if (name === "--changed") changed = value ?? "";
    else if (name !== "--help" && name !== "-h") vitest.push(args[i]!);
  }
  const stages = STAGES.filter((stage) => {
    if (named.length > 0) return named.includes(stage);
    if (changed !== null) return stage !== "build";
    return vitest.length === 0 || hasTests(stage);
  });
  return { help: args.includes("--help") || args.includes("-h"), stages, changed, vitest };
}

export function hasTests(stage: Stage): stage is "unit" | "workerd" | "e2e" {
  return stage === "unit" || stage === "workerd" || stage === "e2e";
}

function stagesIn(list: string): Stage[] {
  return list.split(",").map((name) => {
    const stage = STAGES.find((one) => one === name);
    if (!stage) throw new Error(`There is no stage "${name}"; there are ${STAGES.join(", ")}.`);
    return stage;
  });
}
