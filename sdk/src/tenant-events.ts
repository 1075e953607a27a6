/** @module What happens in a tenant, as it happens. */
import type { TenantEvent } from "@sandbar/shared";
import { networkError, SandbarError } from "./errors.ts";
import type { Http } from "./http.ts";
import { backoffMs, isTransient, sleep } from "./retry.ts";
import { serverEvents } from "./sse.ts";

export interface EventsOptions {
  /** The id of the last event that was seen; what came after it comes first. */
  lastEventId?: string;
  signal?: AbortSignal;
}

const MAX_SILENT_ATTEMPTS = 8;

/** Until the signal, or until the server cannot be reached for long. Events come at least once. */
export async function* tenantEvents(http: Http, options: EventsOptions): AsyncGenerator<TenantEvent> {
  const { signal } = options;
  let { lastEventId } = options;
  for (let attempt = 0; ; attempt++) {
    signal?.throwIfAborted();
    try {
      const headers = {
        accept: "text/event-stream",
        ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
      };
      const response = await http.request("GET", "/v1/events", { headers, signal });
      for await (const { id = lastEventId ?? "", event, data } of serverEvents(response.body!)) {
        attempt = 0;
        lastEventId = id;
        yield { type: event, id, data: JSON.parse(data) } as TenantEvent;
      }
      throw networkError(new Error("it ended"), "the event stream was cut off");
    } catch (error) {
      signal?.throwIfAborted();
      const hopeless = !(error instanceof SandbarError) || !isTransient(error);
      if (hopeless || attempt >= MAX_SILENT_ATTEMPTS) throw error;
    }
    await sleep(backoffMs(attempt, http.retry), signal);
  }
}
