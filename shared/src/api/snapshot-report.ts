/** @module What became of variables on their way into a snapshot, or out of one. */
import { z } from "zod";

/** Whole, not quite itself, or not kept. */
export const SnapshotVariableSchema = z.object({
  name: z.string().max(600),
  type: z.string().max(600),
  status: z.enum(["saved", "degraded", "lost"]),
  reason: z.string().max(1000).optional(),
});
export type SnapshotVariable = z.infer<typeof SnapshotVariableSchema>;

/** So many variables of a context are named in a report, and no more text than this; the others are counted. */
export const REPORTED_VARIABLES = 200;
const REPORTED_CHARS = 24_000;

const count = z.number().int().nonnegative();
export const VariableReportSchema = z.object({
  saved: count,
  degraded: count,
  lost: count,
  /** First those that are not whole. */
  variables: z.array(SnapshotVariableSchema).max(REPORTED_VARIABLES),
});
export type VariableReport = z.infer<typeof VariableReportSchema>;

const ORDER: Record<SnapshotVariable["status"], number> = { lost: 0, degraded: 1, saved: 2 };

/** `more`: variables that were not named, all of them whole as far as anybody knows. */
export function reportOf(variables: readonly SnapshotVariable[], more = 0): VariableReport {
  const tally = { saved: more, degraded: 0, lost: 0 };
  for (const { status } of variables) tally[status]++;
  let chars = 0;
  const named = variables
    .toSorted((a, b) => ORDER[a.status] - ORDER[b.status])
    .slice(0, REPORTED_VARIABLES)
    .filter((variable) => {
      chars += JSON.stringify(variable).length;
      return chars <= REPORTED_CHARS;
    });
  return { ...tally, variables: named };
}
