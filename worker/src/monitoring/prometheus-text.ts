/** @module Figures in the text format of Prometheus. */

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];

export interface Histogram {
  /** By upper bound, each with all that are below it, in order. */
  readonly buckets: readonly (readonly [le: number, count: number])[];
  readonly sum: number;
  readonly count: number;
}

export class PrometheusText {
  readonly #lines: string[] = [];

  gauge(name: string, help: string, samples: readonly Sample[]): void {
    this.#family(name, help, "gauge", samples);
  }

  /** Its name ends in `_total`. */
  counter(name: string, help: string, samples: readonly Sample[]): void {
    this.#family(name, help, "counter", samples);
  }

  histogram(name: string, help: string, { buckets, sum, count }: Histogram): void {
    this.#head(name, help, "histogram");
    for (const [le, below] of buckets) this.#sample(`${name}_bucket`, { le: String(le) }, below);
    this.#sample(`${name}_bucket`, { le: "+Inf" }, count);
    this.#sample(`${name}_sum`, {}, sum);
    this.#sample(`${name}_count`, {}, count);
  }

  toString(): string {
    return `${this.#lines.join("\n")}\n`;
  }

  #family(name: string, help: string, type: string, samples: readonly Sample[]): void {
    this.#head(name, help, type);
    for (const [labels, value] of samples) this.#sample(name, labels, value);
  }

  #head(name: string, help: string, type: string): void {
    this.#lines.push(`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`);
    this.#lines.push(`# TYPE ${name} ${type}`);
  }

  #sample(name: string, labels: Labels, value: number): void {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    this.#lines.push(`${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`);
  }
}

const escaped = (text: string) =>
  text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
