/** @module Who may read `/metrics`: a key with the scope operator, or Prometheus with a token that is good for nothing else. */
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../app-env.ts";
import { authenticated, requireScope } from "../auth.ts";

const requireOperator = requireScope("operator");

export const mayScrape = createMiddleware<AppEnv>(async (c, next) => {
  const token = c.env.METRICS_TOKEN;
  if (token && same(c.req.header("Authorization") ?? "", `Bearer ${token}`)) return next();
  // Both answer by throwing, or go on to what they are given.
  return authenticated(c, async () => {
    await requireOperator(c, next);
  });
});

function same(given: string, wanted: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(given), encoder.encode(wanted)];
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right);
}
