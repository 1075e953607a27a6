/** `report.csv`, `report-2.csv`, … */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const [, stem = name, ending = ""] = /^(.+?)(\.[^./]+)?$/.exec(name) ?? [];
  for (let number = 2; ; number++) {
    const other = `${stem}-${number}${ending}`;
    if (!taken.has(other)) return other;
  }
}
