/** @module Latencies as tenants count them, in the few classes that Prometheus gets: each bound is one of theirs. */
import { boundOf, type Latencies, mergeLatencies, middleOf } from "../tenant/latencies.ts";
import type { Histogram } from "./prometheus-text.ts";

/** Every eighth class: a little more than double, from a millisecond to a day. */
const STEP = 8;
const LAST = 192;

export function histogramOf(all: readonly Latencies[]): Histogram {
  const latencies: Latencies = {};
  for (const one of all) mergeLatencies(latencies, one);
  const classes = Object.entries(latencies).map(([at, count]) => [Number(at), count] as const);
  const buckets: [le: number, count: number][] = [];
  for (let last = 0; last <= LAST; last += STEP) {
    const below = classes.reduce((sum, [at, count]) => sum + (at <= last ? count : 0), 0);
    buckets.push([Number((boundOf(last) / 1000).toPrecision(4)), below]);
  }
  return {
    buckets,
    sum: classes.reduce((sum, [at, count]) => sum + (count * middleOf(at)) / 1000, 0),
    count: classes.reduce((sum, [, count]) => sum + count, 0),
  };
}
