import { describe, expect, it } from "vitest";
import { matchArtifacts, typeOf } from "./artifact-filter.ts";

const artifact = (name: string, mime = "application/octet-stream") => ({
  name,
  mime,
  session_id: "ses_01",
  sha256: "ab12".padEnd(64, "0"),
});

describe("artifacts that match", () => {
  const all = [artifact("plots/Sales.png", "image/png"), artifact("sales.parquet"), artifact("model.bin")];

  it("have every word of the search, in whatever case", () => {
    expect(matchArtifacts(all, "SALES", "all").map(({ name }) => name)).toEqual([
      "plots/Sales.png",
      "sales.parquet",
    ]);
    expect(matchArtifacts(all, "sales png", "all")).toHaveLength(1);
  });

  it("can be found by the beginning of their hash, and only by that", () => {
    expect(matchArtifacts(all, "nightly", "all")).toHaveLength(0);
    expect(matchArtifacts(all, "nightly", "all", () => "Nightly run")).toHaveLength(all.length);
    expect(matchArtifacts(all, "ab12", "all")).toHaveLength(3);
    expect(matchArtifacts(all, "b120", "all")).toHaveLength(0);
  });

  it("are of the chosen type", () => {
    expect(matchArtifacts(all, "", "table").map(({ name }) => name)).toEqual(["sales.parquet"]);
    expect(typeOf(artifact("x.svg"))).toBe("image");
    expect(typeOf(artifact("model.bin"))).toBe("other");
  });

  it("are all of them, the same array, without a filter", () => {
    expect(matchArtifacts(all, " ", "all")).toBe(all);
  });
});
