import { expect, it } from "vitest";
import { advance, type Step } from "./creation-steps.ts";

it("shows each step once, with the newest detail, also when events come again", () => {
  const told: Step[] = [
    { step: "pull", detail: "10 %" },
    { step: "pull", detail: "90 %" },
    { step: "container" },
    { step: "pull", detail: "10 %" },
    { step: "start" },
  ];
  expect(told.reduce(advance, [] as readonly Step[])).toEqual([
    { step: "pull", detail: "90 %" },
    { step: "container", detail: undefined },
    { step: "start", detail: undefined },
  ]);
});
