/** @module Traces, where `OTEL_EXPORTER_OTLP_ENDPOINT` says where to: one span for each request, one for each step in an object. */
import { waitUntil } from "cloudflare:workers";
import {
  type Cause,
  newSpanId,
  newTraceId,
  preciseNow,
  readTraceparent,
  type Span,
  SpanExporter,
  traceparentOf,
  VERSION,
} from "@sandbar/shared";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "./app-env.ts";
import { type Env, traceRatio } from "./env.ts";

const SPANS_AFTER_MS = 1_000;

/** One for all that shares this isolate: objects and requests. */
let exporter: SpanExporter | null = null;

export function spansOf(env: Env): SpanExporter | null {
  const endpoint = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (!endpoint) return null;
  exporter ??= new SpanExporter({
    endpoint,
    headers: env.OTEL_EXPORTER_OTLP_HEADERS,
    resource: { "service.name": "sandbar", "service.version": VERSION },
    soon: (flush) => waitUntil(new Promise((resolve) => setTimeout(resolve, SPANS_AFTER_MS)).then(flush)),
    onError: (error, lost) => console.error("spans are lost", lost, error),
  });
  return exporter;
}

/** The request's own span: below the caller's, if it has one, or of a new trace. */
export const traced = createMiddleware<AppEnv>(async (c, next) => {
  const spans = spansOf(c.env);
  const given = spans && readTraceparent(c.req.header("traceparent"));
  if (!spans || !(given?.sampled ?? Math.random() < traceRatio(c.env))) return next();
  const trace = given?.trace ?? newTraceId();
  const span = newSpanId();
  const request = c.get("requestId");
  c.set("cause", { request, traceparent: traceparentOf({ trace, span }) });
  const from = preciseNow();
  await next();
  const route = routeOf(c);
  const { status } = c.res;
  spans.add({
    trace,
    span,
    ...(given && { parent: given.span }),
    name: `${c.req.method} ${route}`,
    kind: "server",
    from,
    to: preciseNow(),
    attributes: {
      "http.request.method": c.req.method,
      "http.route": route,
      "http.response.status_code": status,
      "sandbar.request": request,
    },
    ...(status >= 500 && { error: String(status) }),
  });
});

/** As it is written in the table of routes: paths have ids, and some have secrets. */
function routeOf(c: Context<AppEnv>): string {
  const last = matchedRoutes(c).at(-1);
  return last && last.method !== "ALL" ? last.path : "(none)";
}

/** A step of what a request has set in motion: what follows from it has the cause, and `end` tells how long it took. */
export interface Step {
  readonly cause: Cause | undefined;
  end(name: string, attributes?: Span["attributes"], error?: string): void;
}

export function beginStep(env: Env, cause: Cause | undefined): Step {
  const parent = cause?.traceparent === undefined ? null : readTraceparent(cause.traceparent);
  const spans = parent && spansOf(env);
  if (!parent || !spans || !cause) return { cause, end: () => {} };
  const span = newSpanId();
  const { trace } = parent;
  const from = preciseNow();
  return {
    cause: { ...cause, traceparent: traceparentOf({ trace, span }) },
    end(name, attributes, error) {
      const to = preciseNow();
      spans.add({
        trace,
        span,
        parent: parent.span,
        name,
        from,
        to,
        attributes: { ...attributes, "sandbar.request": cause.request },
        ...(error !== undefined && { error }),
      });
    },
  };
}
