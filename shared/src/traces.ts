/**
 * Spans of OpenTelemetry, sent as OTLP over HTTP in JSON. The same few lines serve the Worker and the daemon, which know
 * the beginning, the end and the parent of a span when they make it (`docs/design/traces.md` says why no SDK does).
 *
 * @module
 */

export interface TraceContext {
  readonly trace: string;
  readonly span: string;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NOTHING = /^0+$/;

/** What a W3C `traceparent` says; null when it says nothing that can be read. */
export function readTraceparent(
  header: string | undefined | null,
): (TraceContext & { sampled: boolean }) | null {
  const [, trace, span, flags] = TRACEPARENT.exec(header ?? "") ?? [];
  if (!trace || !span || !flags || header!.startsWith("ff") || NOTHING.test(trace) || NOTHING.test(span))
    return null;
  return { trace, span, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Of a span that is sampled. */
export const traceparentOf = ({ trace, span }: TraceContext) => `00-${trace}-${span}-01`;

export const newTraceId = () => hex(16);
export const newSpanId = () => hex(8);

function hex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** Now, in milliseconds and parts of them where the clock has them. */
export const preciseNow = () => performance.timeOrigin + performance.now();

export type SpanKind = "internal" | "server" | "client";
const KINDS: Record<SpanKind, number> = { internal: 1, server: 2, client: 3 };

export interface Span extends TraceContext {
  readonly parent?: string;
  readonly name: string;
  readonly kind?: SpanKind;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
  readonly attributes?: Record<string, string | number | boolean | undefined>;
  /** What went wrong, if anything did. */
  readonly error?: string;
}

export interface SpanExporterOptions {
  /** `OTEL_EXPORTER_OTLP_ENDPOINT`: spans go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** `OTEL_EXPORTER_OTLP_HEADERS`: `name=value,…`. */
  readonly headers?: string | undefined;
  /** `service.name` and what else is true of all spans. */
  readonly resource: Record<string, string>;
  /** Has `flush` called a moment later; nobody waits for it. */
  readonly soon: (flush: () => Promise<void>) => void;
  readonly onError: (error: unknown, lost: number) => void;
}

/** More than these are not held: who cannot be told of them in time loses the newest. */
const HELD = 4096;
const BATCH = 512;
const SEND_MS = 5_000;
/** A flush that was wanted so long ago will not come any more: whoever was to call it is gone. */
const FORGOTTEN_MS = 10_000;

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  readonly #url: string;
  readonly #headers: Record<string, string>;
  #waiting: Span[] = [];
  #lost = 0;
  #wantedAt = 0;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
    this.#url = `${options.endpoint.replace(/\/+$/, "")}/v1/traces`;
    this.#headers = { "Content-Type": "application/json", ...headersOf(options.headers) };
  }

  add(span: Span): void {
    if (this.#waiting.length >= HELD) {
      this.#lost++;
      return;
    }
    this.#waiting.push(span);
    const now = Date.now();
    if (now - this.#wantedAt < FORGOTTEN_MS) return;
    this.#wantedAt = now;
    this.#options.soon(() => this.flush());
  }

  /** Sends what waits. A collector that does not take it costs the traces and nothing else. */
  async flush(): Promise<void> {
    this.#wantedAt = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    let lost = this.#lost;
    this.#lost = 0;
    let failure: unknown = new Error("more spans than are held");
    for (let at = 0; at < waiting.length; at += BATCH) {
      const batch = waiting.slice(at, at + BATCH);
      try {
        const answer = await fetch(this.#url, {
          method: "POST",
          headers: this.#headers,
          body: JSON.stringify(otlp(batch, this.#options.resource)),
          signal: AbortSignal.timeout(SEND_MS),
        });
        await answer.body?.cancel();
        if (!answer.ok) throw new Error(`the collector answers ${answer.status}`);
      } catch (error) {
        failure = error;
        lost += batch.length;
      }
    }
    if (lost > 0) this.#options.onError(failure, lost);
  }
}

function otlp(spans: readonly Span[], resource: Record<string, string>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "sandbar" }, spans: spans.map(otlpSpan) }],
      },
    ],
  };
}

function otlpSpan({
  trace,
  span,
  parent,
  name,
  kind = "internal",
  from,
  to,
  attributes,
  error,
}: Span): object {
  return {
    traceId: trace,
    spanId: span,
    ...(parent !== undefined && { parentSpanId: parent }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(Math.max(from, to)),
    attributes: attributesOf(attributes ?? {}),
    status: error === undefined ? {} : { code: 2, message: error },
  };
}

/** Nanoseconds of today are more than a number holds exactly. */
const nanoseconds = (ms: number) =>
  `${Math.floor(ms)}${String(Math.floor((ms % 1) * 1_000_000)).padStart(6, "0")}`;

function attributesOf(given: NonNullable<Span["attributes"]>): object[] {
  return Object.entries(given).flatMap(([key, value]): object[] => {
    if (value === undefined) return [];
    if (typeof value === "string") return [{ key, value: { stringValue: value } }];
    if (typeof value === "boolean") return [{ key, value: { boolValue: value } }];
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
  });
}

function headersOf(text = ""): Record<string, string> {
  return Object.fromEntries(
    text
      .split(",")
      .map((pair) => pair.split(/=(.*)/s))
      .flatMap(([name, value]) =>
        name?.trim() && value ? [[name.trim(), decodeURIComponent(value.trim())]] : [],
      ),
  );
}
