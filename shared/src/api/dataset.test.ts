import { describe, expect, it } from "vitest";
import { DatasetIdSchema, DatasetVersionSchema, datasetExportName, datasetFile } from "./dataset.ts";
import { CreateDatasetSourceSchema, expandTemplate } from "./dataset-source.ts";

describe("a dataset's file", () => {
  it.each([
    ["sales", undefined, "sales.parquet"],
    ["sales.csv", undefined, "sales.csv"],
    ["sales.CSV.gz", undefined, "sales.CSV.gz"],
    ["sales-v1.2", undefined, "sales-v1.2.parquet"],
    ["sales", "csv", "sales.csv"],
    ["sales.csv", "csv", "sales.csv"],
    ["sales.csv", "json", "sales.csv.json"],
  ])("of %s with format %s is %s", (id, format, file) => expect(datasetFile(id, format)).toBe(file));

  it.each([
    ["sales.parquet", "sales_20261116T050607Z.parquet"],
    ["sales.csv.gz", "sales_20261116T050607Z.csv.gz"],
    ["sales-v1.2.parquet", "sales-v1.2_20261116T050607Z.parquet"],
    ["odd.dat", "odd_20261116T050607Z.dat"],
  ])("%s is exported as %s", (file, name) =>
    expect(datasetExportName(file, new Date("2026-11-16T05:06:07.890Z"))).toBe(name),
  );
});

describe("a source's URL", () => {
  const accepts = (url_template: string) =>
    CreateDatasetSourceSchema.safeParse({ name: "n", url_template }).success;

  it("has the id percent-encoded in its place", () => {
    const values = { id: "a b/c?d&e#f", version: "ü" };
    expect(expandTemplate("https://x/{id}?v={version}&i={id}", values)).toBe(
      "https://x/a%20b%2Fc%3Fd%26e%23f?v=%C3%BC&i=a%20b%2Fc%3Fd%26e%23f",
    );
  });

  it("has a place for the id outside of its origin", () => {
    expect(accepts("https://data.example.com/v1/{id}.parquet")).toBe(true);
    expect(accepts("http://10.0.0.1:9000/?id={id}&v={version}")).toBe(true);
    for (const template of [
      "https://{id}.example.com/",
      "https://example.com:{id}/",
      "https://example.com/",
      "https://user:pw@example.com/{id}",
      "ftp://example.com/{id}",
      "https://example.com/.{version}/{id}",
      "https://example.com/a#{id}",
      "{id}",
    ])
      expect([template, accepts(template)]).toEqual([template, false]);
  });

  it("cannot be led upwards", () => {
    for (const text of [".", "..", "..."]) {
      expect(DatasetVersionSchema.safeParse(text).success).toBe(false);
      expect(DatasetIdSchema.safeParse(text).success).toBe(false);
    }
    expect(DatasetVersionSchema.safeParse("1.0..2").success).toBe(true);
  });
});
