import { expect, it } from "vitest";
import { testsDriving } from "./changes.ts";

it.each([
  [["README.md", "test/run.ts"], []],
  [["worker/src/index.ts"], ["test/workerd/"]],
  [
    ["shared/src/errors.ts", "images/guest/main.py"],
    ["test/workerd/", "agent-host/test/", "test/guest/"],
  ],
  [["images/a", "images/b"], ["test/guest/"]],
])("after a change of %j, these drive what changed: %j", (files, tests) => {
  expect(testsDriving(files)).toEqual(tests);
});
