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

  it("silence is said, since an empty message confuses models", () => {
    expect(renderExecution(toExecution(record("ok")), null)[0]).toBe("(no output)");
  });
});
