/** @module The steps of a session's making, each once, with the newest of its details. */

export interface Step {
  step: string;
  detail?: string;
}

export function advance(steps: readonly Step[], { step, detail }: Step): readonly Step[] {
  const known = steps.findIndex((each) => each.step === step);
  if (known === -1) return [...steps, { step, detail }];
  // Events come again after a cut; what has been left behind stays behind.
  if (known < steps.length - 1) return steps;
  return steps.map((each, index) => (index === known ? { step, detail: detail ?? each.detail } : each));
}
