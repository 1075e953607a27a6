/** @module One run of the agent: from its request, or from where a crash has left it, to its end or its next question. */
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import type { Sandbar, SessionOptions, SessionRecord } from "@sandbar/sdk";
import { type ModelSettings, SandbarError } from "@sandbar/shared";
import type { z } from "zod";
import { type RunRequest, type StreamMode, WishesSchema } from "../api/shapes.ts";
import type { Images } from "../thread/images.ts";
import type { Run } from "../thread/runs.ts";
import { agentGraph } from "./agent-graph.ts";
import { ObjectCheckpointer } from "./checkpointer.ts";
import { FreshIds } from "./fresh-ids.ts";
import { linkPictures } from "./middleware.ts";
import { chooseModel } from "./models.ts";
import { sandboxFacts, systemPrompt } from "./prompt.ts";
import { agentTools } from "./tools.ts";
import { type Emit, graphModes, Translator } from "./translator.ts";
import { toWire } from "./wire.ts";

export const DEFAULT_MODES: StreamMode[] = ["values", "messages-tuple", "updates", "custom"];
/** Each step of the agent is several of the graph's. */
const GRAPH_STEPS = 12;

export interface Job {
  readonly sql: SqlStorage;
  readonly threadId: string;
  readonly run: Run;
  /** The run has made checkpoints already. */
  readonly resumed: boolean;
  readonly settings: ModelSettings;
  readonly sandbar: Sandbar;
  readonly images: Images;
  readonly signal: AbortSignal;
  readonly emit: Emit;
  /** `custom` events of the attempts before. */
  readonly said: readonly unknown[];
}

export async function runGraph(job: Job): Promise<void> {
  const { run, images, signal } = job;
  const { request } = run;
  const modes = request.stream_mode ?? DEFAULT_MODES;
  const { session = {}, ...wishes } = wishesOf(request);
  const settings = { ...job.settings, ...wishes };
  const chosen = chooseModel(settings);
  const ids = new FreshIds();
  const translator = new Translator({ modes, images, ids, emit: job.emit, said: job.said });
  const facts = await sandboxFacts(job.sandbar, job.threadId);
  const checkpointer = new ObjectCheckpointer(job.sql, job.threadId, run.run_id);
  const configurable = {
    ...(request.config?.configurable ?? {}),
    thread_id: job.threadId,
    checkpoint_ns: "",
    run_id: run.run_id,
    ...(job.resumed ? {} : startingPoint(request)),
  };
  const former = await formerSession(checkpointer, configurable);
  const graph = agentGraph(checkpointer, {
    runId: run.run_id,
    chosen,
    images,
    ids,
    iterations: Math.min(settings.iterations, iterationsWithin(request.config?.recursion_limit)),
    prompt: systemPrompt(facts, settings, {
      wished: session,
      lost: former !== null && former !== facts.session?.id,
    }),
    // Whoever answers a question is heard, even if nobody would be asked now.
    approval: settings.approval || request.command?.resume !== undefined,
    tell: (event) => translator.tell(event),
    tools: agentTools({
      sandbar: job.sandbar,
      key: job.threadId,
      // A sandbox that is there is taken as it is.
      session: facts.session ? sameAs(facts.session.info) : session,
      readOnly: settings.read_only,
      onEvent: (event, call) => translator.execution(event, call),
    }),
  });

  const about = {
    run_id: run.run_id,
    thread_id: job.threadId,
    graph_id: "agent",
    assistant_id: request.assistant_id,
  };
  const config = {
    configurable,
    metadata: { ...run.metadata, ...about },
    tags: request.config?.tags ?? [],
    recursionLimit: settings.iterations * GRAPH_STEPS + 25,
    durability: "sync" as const,
    signal,
    ...(request.interrupt_before ? { interruptBefore: request.interrupt_before } : {}),
    ...(request.interrupt_after ? { interruptAfter: request.interrupt_after } : {}),
  };
  if (job.resumed) translator.values((await graph.getState({ configurable })).values);

  const input = job.resumed ? null : inputOf(request, images);
  const streamMode = graphModes(modes);
  if (modes.includes("events"))
    await streamEvents(graph, input, { ...config, streamMode }, translator, job.emit);
  else {
    const stream = await graph.stream(input as never, { ...config, streamMode } as never);
    for await (const chunk of stream) {
      const [mode, payload] = chunk as unknown as [string, unknown];
      translator.chunk(mode, payload);
    }
  }
  signal.throwIfAborted();
}

async function streamEvents(
  graph: ReturnType<typeof agentGraph>,
  input: unknown,
  config: object,
  translator: Translator,
  emit: Emit,
): Promise<void> {
  const events = graph.streamEvents(input as never, { ...config, version: "v2" } as never);
  for await (const event of events as unknown as AsyncIterable<Record<string, unknown>>) {
    const {
      event: name,
      data,
      run_id,
      metadata,
    } = event as {
      event: string;
      data: { chunk?: unknown };
      run_id: string;
      metadata: { run_id?: string };
    };
    emit("events", toWire(event));
    // The graph's own stream comes as chunks of its outermost run.
    if (name === "on_chain_stream" && run_id !== undefined && Array.isArray(data.chunk) && isGraph(event)) {
      const [mode, payload] = data.chunk as [string, unknown];
      if (typeof mode === "string" && metadata) translator.chunk(mode, payload);
    }
  }
}

const isGraph = (event: Record<string, unknown>) =>
  (event.parent_ids as unknown[] | undefined)?.length === 0 || event.name === "LangGraph";

/** LangGraph's clients count the model and its tools as a step each; of the last answer none calls tools. */
const iterationsWithin = (steps = Number.POSITIVE_INFINITY) => Math.ceil(steps / 2);

function wishesOf(request: RunRequest): z.infer<typeof WishesSchema> {
  const parsed = WishesSchema.safeParse({ ...request.config?.configurable, ...request.context });
  if (parsed.success) return defined(parsed.data);
  const [issue] = parsed.error.issues;
  throw new SandbarError(
    "VALIDATION_FAILED",
    `config.configurable.${issue!.path.join(".")}: ${issue!.message}`,
  );
}

function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}

function startingPoint({ checkpoint, checkpoint_id }: RunRequest): { checkpoint_id?: string } {
  const id = checkpoint?.checkpoint_id ?? checkpoint_id;
  return id ? { checkpoint_id: id } : {};
}

/** In which sandbox code ran last, as the thread's messages say. */
async function formerSession(checkpointer: ObjectCheckpointer, configurable: object): Promise<string | null> {
  const tuple = await checkpointer.getTuple({ configurable });
  const messages = (tuple?.checkpoint.channel_values.messages ?? []) as { artifact?: unknown }[];
  const ran = messages.findLast(({ artifact }) => sessionOf(artifact) !== null);
  return sessionOf(ran?.artifact);
}

function sessionOf(artifact: unknown): string | null {
  const id = (artifact as { session_id?: unknown } | null | undefined)?.session_id;
  return typeof id === "string" ? id : null;
}

/** Null goes on from where the thread stands. */
function inputOf({ input, command }: RunRequest, images: Images): unknown {
  if (command) {
    const { resume, update, goto } = command;
    return new Command({
      ...(resume === undefined ? {} : { resume }),
      ...(update === undefined ? {} : { update: update as Record<string, unknown> }),
      ...(goto === undefined ? {} : { goto: goto as string }),
    });
  }
  return input === undefined || input === null ? null : withLinks(input, images);
}

/** Messages of the user may bring pictures, which are kept beside the state. */
export function withLinks(values: unknown, images: Images): unknown {
  const { messages } = (values ?? {}) as { messages?: unknown };
  if (messages === undefined) return values;
  const given = Array.isArray(messages) ? messages : [messages];
  return { ...(values as object), messages: given.map((message) => linked(message, images)) };
}

function linked(given: unknown, images: Images): BaseMessage {
  let message: BaseMessage;
  try {
    message = coerceMessageLikeToMessage(given as never);
  } catch (error) {
    const [why] = String(error instanceof Error ? error.message : error).split("\n");
    throw new SandbarError("VALIDATION_FAILED", `input.messages: ${why}`);
  }
  if (!message.id) {
    const id = crypto.randomUUID();
    message.id = id;
    // What is written down is what it was made of.
    message.lc_kwargs.id = id;
  }
  linkPictures(message, images);
  return message;
}

/** As much as decides which tools there are, and what they say of themselves. */
const sameAs = ({ datasets, engine, runtime }: SessionRecord): SessionOptions => ({
  datasets,
  engine,
  runtime,
});
