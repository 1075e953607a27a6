/**
 * The agent's way back: this Worker's API in the name of the key that started a run, also long after its caller has
 * gone. Only the agent's Worker is bound to it. A key that was revoked opens it no more.
 *
 * @module
 */
import { WorkerEntrypoint } from "cloudflare:workers";
import {
  ACTING_KEY_HEADER,
  type ControlPlaneService,
  type ModelSettings,
  SandbarError,
} from "@sandbar/shared";
import { callerBy, stillGood } from "../auth.ts";
import type { Env } from "../env.ts";
import type { App } from "../openapi.ts";
import { modelSettings } from "../settings/model-settings.ts";

export abstract class AgentDoorway extends WorkerEntrypoint<Env> implements ControlPlaneService {
  protected abstract readonly app: App;

  override async fetch(request: Request): Promise<Response> {
    const caller = await callerBy(this.env.DB, request.headers.get(ACTING_KEY_HEADER) ?? "");
    if (!caller) {
      const { failure } = new SandbarError("UNAUTHENTICATED", "The key was revoked or has expired");
      return Response.json({ ...failure, title: "No valid API key" }, { status: 401 });
    }
    return this.app.fetch(request, { ...this.env, ACTING: caller }, this.ctx);
  }

  stillGood(key_id: string): Promise<boolean> {
    return stillGood(this.env.DB, key_id);
  }

  async settings(key_id: string): Promise<ModelSettings | null> {
    const caller = await callerBy(this.env.DB, key_id);
    return caller && modelSettings(this.env, caller.tenant);
  }
}
