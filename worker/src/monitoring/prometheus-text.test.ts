import { expect, it } from "vitest";
import { PrometheusText } from "./prometheus-text.ts";

it("writes families, and labels that say anything at all", () => {
  const text = new PrometheusText();
  text.gauge("sandbar_host_up", "1 when it is online", [[{ name: 'a "b"\\c\nd' }, 1]]);
  text.counter("sandbar_things_total", "Things", [[{}, 3]]);
  text.histogram("sandbar_time_seconds", "Time", {
    buckets: [
      [0.1, 2],
      [1, 5],
    ],
    sum: 4.5,
    count: 6,
  });
  expect(String(text).split("\n")).toEqual([
    "# HELP sandbar_host_up 1 when it is online",
    "# TYPE sandbar_host_up gauge",
    'sandbar_host_up{name="a \\"b\\"\\\\c\\nd"} 1',
    "# HELP sandbar_things_total Things",
    "# TYPE sandbar_things_total counter",
    "sandbar_things_total 3",
    "# HELP sandbar_time_seconds Time",
    "# TYPE sandbar_time_seconds histogram",
    'sandbar_time_seconds_bucket{le="0.1"} 2',
    'sandbar_time_seconds_bucket{le="1"} 5',
    'sandbar_time_seconds_bucket{le="+Inf"} 6',
    "sandbar_time_seconds_sum 4.5",
    "sandbar_time_seconds_count 6",
    "",
  ]);
});
