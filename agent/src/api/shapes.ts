/** @module Bodies and queries of the LangGraph Platform's REST API, as far as the agent knows them. */
import { CreateSessionSchema, ModelNameSchema, SessionKeySchema } from "@sandbar/shared";
import { z } from "zod";

export const ThreadIdSchema = SessionKeySchema;
const Metadata = z.record(z.string().max(200), z.unknown());
const Limit = z.number().int().min(1).max(1000).default(10);
const Offset = z.number().int().min(0).max(1_000_000).default(0);
/** Of what would silently not happen. */
const Never = (instead: string) => z.null({ error: `is not supported: ${instead}` }).optional();
export const ThreadStatusSchema = z.enum(["idle", "busy", "interrupted", "error"]);
export const RunStatusSchema = z.enum(["pending", "running", "error", "success", "timeout", "interrupted"]);

export const STREAM_MODES = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "debug",
  "events",
  "tasks",
  "checkpoints",
] as const;
export const StreamModeSchema = z.enum(STREAM_MODES);
export type StreamMode = z.infer<typeof StreamModeSchema>;

const one = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === undefined || Array.isArray(value) ? value : [value]), schema);

const CheckpointSchema = z.looseObject({
  checkpoint_id: z.string().max(100).nullish(),
  checkpoint_ns: z.string().max(500).nullish(),
});

const CommandSchema = z.object({
  resume: z.unknown().optional(),
  update: z.unknown().optional(),
  goto: z.unknown().optional(),
});

/** What LangChain makes messages of; which roles there are it says itself. */
const MessageSchema = z.looseObject({ content: z.union([z.string(), z.array(z.unknown())]).nullish() });
const MESSAGES = "must be texts, or {role, content} whose content is a text or a list of blocks";
const InputSchema = z.looseObject({
  messages: z
    .union(
      [
        z.string(),
        MessageSchema,
        z.array(z.union([z.string(), z.tuple([z.string(), z.unknown()]), MessageSchema])),
      ],
      { error: MESSAGES },
    )
    .nullish(),
});

/** What a run may want otherwise than the tenant's settings, in `config.configurable` or `context`. */
export const WishesSchema = z.object({
  model: ModelNameSchema.optional(),
  temperature: z.number().min(0).max(2).optional(),
  iterations: z.number().int().min(1).max(200).optional(),
  approval: z.boolean().optional(),
  read_only: z.boolean().optional(),
  session: CreateSessionSchema.omit({ key: true }).optional(),
});

const Nodes = z.union([z.literal("*"), z.array(z.string().max(100)).max(50)]);

export const RunRequestSchema = z.object({
  assistant_id: z.string().max(200),
  input: InputSchema.nullish(),
  command: CommandSchema.nullish(),
  config: z
    .looseObject({
      configurable: z.record(z.string(), z.unknown()).optional(),
      recursion_limit: z.number().int().min(1).max(10_000).optional(),
      tags: z.array(z.string().max(200)).max(50).optional(),
    })
    .nullish(),
  context: z.record(z.string(), z.unknown()).nullish(),
  metadata: Metadata.nullish(),
  stream_mode: one(z.array(StreamModeSchema).max(20)).optional(),
  stream_subgraphs: z.boolean().nullish(),
  stream_resumable: z.boolean().nullish(),
  interrupt_before: Nodes.nullish(),
  interrupt_after: Nodes.nullish(),
  checkpoint: CheckpointSchema.nullish(),
  checkpoint_id: z.string().max(100).nullish(),
  multitask_strategy: z.enum(["reject", "interrupt", "rollback", "enqueue"]).nullish(),
  on_disconnect: z.enum(["cancel", "continue"]).nullish(),
  on_completion: z.enum(["delete", "keep"]).nullish(),
  if_not_exists: z.enum(["create", "reject"]).nullish(),
  after_seconds: z
    .number()
    .min(0)
    .max(30 * 24 * 3600)
    .nullish()
    .transform((seconds) => seconds || undefined),
  webhook: Never("join the run, or read /v1/events"),
});
export type RunRequest = z.infer<typeof RunRequestSchema>;

export const CreateThreadSchema = z.object({
  thread_id: ThreadIdSchema.nullish(),
  metadata: Metadata.nullish(),
  if_exists: z.enum(["raise", "do_nothing"]).nullish(),
  ttl: Never("threads stay until they are deleted"),
  supersteps: Never("copy a thread, or update its state"),
});

export const PatchThreadSchema = z.object({
  metadata: Metadata.nullish(),
  ttl: Never("threads stay until they are deleted"),
});

export const PruneThreadsSchema = z.object({
  thread_ids: z.array(z.string().max(256)).max(1000),
  strategy: z.enum(["delete", "keep_latest"]).default("delete"),
});

export const JoinThreadQuery = z.object({
  stream_mode: z.array(z.enum(["run_modes", "lifecycle"])).default(["run_modes"]),
});

const Filter = { metadata: Metadata.nullish(), status: ThreadStatusSchema.nullish() };

const Fields = z.array(z.string().max(100)).max(50);

export const CountThreadsSchema = z.object({ ...Filter, values: Never("count by metadata") });

export const SearchThreadsSchema = z.object({
  ...Filter,
  ids: z.array(z.string().max(256)).max(1000).nullish(),
  limit: Limit,
  offset: Offset,
  sort_by: z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: Fields.nullish(),
  values: Never("search by metadata"),
  extract: Never("ask for the thread's state"),
});

export const StateAtSchema = z.object({ checkpoint: CheckpointSchema });

export const UpdateStateSchema = z.object({
  values: z.unknown().optional(),
  checkpoint: CheckpointSchema.nullish(),
  checkpoint_id: z.string().max(100).nullish(),
  as_node: z.string().max(100).nullish(),
});
export type UpdateState = z.infer<typeof UpdateStateSchema>;

export const HistorySchema = z.object({
  limit: Limit,
  before: z.union([z.string().max(100), z.looseObject({})]).nullish(),
  metadata: Metadata.nullish(),
  checkpoint: CheckpointSchema.nullish(),
});
export type History = z.infer<typeof HistorySchema>;

export const SearchAssistantsSchema = z.object({
  graph_id: z.string().nullish(),
  name: z.string().nullish(),
  metadata: Metadata.nullish(),
  limit: Limit,
  offset: Offset,
});

export const ListRunsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(10),
  offset: z.coerce.number().int().min(0).max(1_000_000).default(0),
  status: RunStatusSchema.optional(),
});

export const CancelManySchema = z.object({
  thread_id: z.string().max(256).nullish(),
  run_ids: z.array(z.string().max(100)).max(1000).nullish(),
  status: z.enum(["pending", "running", "all"]).nullish(),
});
