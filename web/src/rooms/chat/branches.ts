/**
 * The tree of a thread: each question is a turn, and a question that was edited or asked again has siblings. Of turns
 * that are over the server keeps the first checkpoint and the last, which is enough for both: to ask again, and to look.
 *
 * @module
 */
import type { CheckpointPoint } from "@sandbar/sdk";

/** One question on the branch that is shown. */
export interface Turn {
  /** Where it is asked from when it is asked otherwise. */
  readonly from: string;
  /** This question and the others in its place, oldest first, by the newest checkpoint below each. */
  readonly siblings: readonly string[];
  readonly index: number;
}

const isQuestion = ({ source }: CheckpointPoint) => source === "input";

/** The questions from the first to the last above `head`; the newest checkpoint unless another is chosen. */
export function turnsOf(points: readonly CheckpointPoint[], head: string | null): Turn[] {
  const byId = new Map(points.map((point) => [point.checkpoint_id, point]));
  const questions = points.filter(isQuestion);
  const origins = new Map(questions.map((point) => [point.checkpoint_id, originOf(point, byId)]));
  const ends = newestBelow(points, byId);
  const turns: Turn[] = [];
  let point = byId.get(head ?? "") ?? points.at(-1);
  while (point) {
    if (isQuestion(point)) {
      const { checkpoint_id } = point;
      const origin = origins.get(checkpoint_id) ?? null;
      const siblings = questions.filter((other) => origins.get(other.checkpoint_id) === origin);
      turns.push({
        from: origin ?? siblings[0]!.checkpoint_id,
        siblings: siblings.map((sibling) => ends.get(sibling.checkpoint_id)!),
        index: siblings.indexOf(point),
      });
      point = origin === null ? undefined : byId.get(origin);
    } else point = byId.get(point.parent_checkpoint_id ?? "");
  }
  return turns.reverse();
}

/** A question that was asked from before another one stands beside that one, not below it. */
function originOf(question: CheckpointPoint, byId: ReadonlyMap<string, CheckpointPoint>): string | null {
  let above = byId.get(question.parent_checkpoint_id ?? "");
  while (above && isQuestion(above)) above = byId.get(above.parent_checkpoint_id ?? "");
  return above?.checkpoint_id ?? null;
}

/** Ids grow with time, so the last one that is met is the newest. */
function newestBelow(
  points: readonly CheckpointPoint[],
  byId: ReadonlyMap<string, CheckpointPoint>,
): Map<string, string> {
  const newest = new Map<string, string>();
  for (const point of points) {
    newest.set(point.checkpoint_id, point.checkpoint_id);
    let [at, above] = [point, byId.get(point.parent_checkpoint_id ?? "")];
    while (above) {
      // Beside it, not below it.
      if (!(isQuestion(at) && isQuestion(above))) newest.set(above.checkpoint_id, point.checkpoint_id);
      [at, above] = [above, byId.get(above.parent_checkpoint_id ?? "")];
    }
  }
  return newest;
}
