import { join } from "node:path";
import { ERRORS } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { type OpenApi, referenceOf } from "../../docs/reference.ts";
import { troubleshooting } from "../../docs/troubleshooting.ts";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const DOCS = join(REPO, "docs");

// After a change of routes or errors, `npm test -- test/docs/examples-docs.test.ts -u` writes both again.
describe("generated documents are current", () => {
  const { stack } = useStack({ withoutAgent: true });

  it("the reference, with every route of /openapi.json", async () => {
    const api = (await (await fetch(`${stack.url}/openapi.json`)).json()) as OpenApi;
    await expect(referenceOf(api)).toMatchFileSnapshot(join(DOCS, "reference.md"));
  });

  it("troubleshooting, with a section for every error code", async () => {
    const text = troubleshooting();
    const sections = [...text.matchAll(/^## (\w+)$/gm)].map(([, code]) => code);
    expect(sections).toEqual(Object.keys(ERRORS));
    await expect(text).toMatchFileSnapshot(join(DOCS, "troubleshooting.md"));
  });
});
