import { describe, expect, it } from "vitest";
import { elide } from "../describe.ts";
import { toExecution } from "../execution.ts";
import { record } from "../fake-server.test-support.ts";
import { renderExecution } from "./render.ts";

describe("what the model reads", () => {
  it("has output, results, images as blocks, and artifacts by name", () => {
    const artifact = { id: "art_1", name: "plot.png", size: 10, mime: "image/png" } as never;
    const [content, kept] = renderExecution(
      toExecution(
        record("ok", {
          stdout: "hello\n",
          stderr: "careful\n",
          results: [{ "text/plain": "42" }, { "image/png": "AAAA\n", "text/plain": "<Figure>" }],
          artifacts: [artifact],
        }),
      ),
      null,
    );
    expect(content).toEqual([
      {
        type: "text",
        text: "hello\n[stderr]\ncareful\n42\n[artifact] plot.png (image/png, 10 bytes, id art_1)",
      },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
    ]);
    expect(kept).toMatchObject({ execution_id: "exe_1", artifacts: [artifact] });
    expect(JSON.stringify(kept)).not.toContain("AAAA");
  });

  it("says how code ended that did not end by itself", () => {
    const [content] = renderExecution(
      toExecution(
        record("died", {
          error: { name: "OOM_KILLED", value: "out of memory", traceback: "" },
          state: { variables: "lost", files: "kept" },
        }),
      ),
      "fresh",
    );
    expect(content).toBe(
      "[fresh]\n[OOM_KILLED] out of memory\n[the code ended as died; variables lost, files kept]",
    );
  });

  it("begins with the loss of variables that the code may have counted on", () => {
    const [content] = renderExecution(
      toExecution(
        record("ok", { stdout: "1\n", state: { variables: "lost", files: "kept", reason: "it fell" } }),
      ),
      null,
    );
    expect(content).toBe("[variables of earlier code were lost before this code began: it fell]\n1");
  });

  it("an image for a model that does not see is only mentioned", () => {
    const [content] = renderExecution(
      toExecution(record("ok", { results: [{ "image/png": "AAAA" }] })),
      null,
      {
        maxImageChars: 0,
      },
    );
    expect(content).toBe("[an image/png of 4 base64 characters is not shown]");
  });

  it("long output keeps both ends", () => {
    const text = elide(`${"a".repeat(1000)}END`, 100);
    expect(text).toMatch(/^a{70}\n\[… 903 characters left out …\]\na{27}END$/);
  });

  it("what was cut on the way, or left out, is said with its length", () => {
    const truncated = {
      stdout: 60_001,
      result: 40_002,
      results: 2,
      "text/html": 2_000_000,
      "image/png": 1_200_000,
    };
    const [content] = renderExecution(toExecution(record("ok", { stdout: "head\n", truncated })), null);
    expect(content).toBe(
      "head\n[stdout was cut: 60001 characters in all]\n[result was cut: 40002 characters in all]\n" +
        "[too large and left out: text/html of 2000000 characters]\n[too large and left out: image/png of 1200000 characters]",
    );
  });

  it("silence is said, since an empty message confuses models", () => {
    expect(renderExecution(toExecution(record("ok")), null)[0]).toBe("(no output)");
  });
});
