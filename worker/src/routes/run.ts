/** @module `POST /v1/run`: one stateless call; a snapshot carries what the next one needs. */
import { createRoute } from "@hono/zod-openapi";
import { RunOnceAnswerSchema, RunOnceSchema } from "@sandbar/shared";
import { executionWithLinks } from "../artifacts/links.ts";
import { type App, body, ExecutionBody, json, refused, SnapshotBody, secured } from "../openapi.ts";
import { countExecution } from "../rates/rate-limits.ts";
import { runOnce } from "../snapshots/run-once.ts";
import { linkBase } from "./artifacts.ts";

const AnswerBody = RunOnceAnswerSchema.extend({
  execution: ExecutionBody,
  snapshot: SnapshotBody.optional(),
});

export function runRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/run",
      tags: ["snapshots"],
      summary: "Run code once",
      description:
        "In a session of its own, which ends with it. It begins with a snapshot if the request has one, by its id or as the bytes that an earlier answer gave; `keep` asks for a new one. When that cannot be kept the answer has the execution and `keep_error`.",
      security: secured,
      request: { body: body(RunOnceSchema) },
      responses: {
        200: json(AnswerBody, "The execution after its end, and what is kept"),
        ...refused,
      },
    }),
    async (c) => {
      countExecution(c);
      const running = runOnce(c.env, c.get("caller"), c.get("cause"), c.req.valid("json"), (work) =>
        c.executionCtx.waitUntil(work),
      );
      c.executionCtx.waitUntil(running.catch(() => {}));
      const answer = await running;
      return c.json(
        { ...answer, execution: await executionWithLinks(c.env, linkBase(c), answer.execution) },
        200,
      );
    },
  );
}
