/**
 * What runs sessions: containers, or Python in WebAssembly where there is no Docker; and what each can do.
 * Executions, contexts, files, artifacts and staged datasets work with every engine and are not named here.
 *
 * @module
 */
import { z } from "zod";

export const EngineSchema = z.enum(["container", "wasm"]);
export type EngineName = z.infer<typeof EngineSchema>;

/** `any`: containers where a host has room for one, else whatever can do what the session needs. */
export const EngineChoiceSchema = z.enum(["container", "wasm", "any"]);
export type EngineChoice = z.infer<typeof EngineChoiceSchema>;

export const CapabilitySchema = z.enum([
  /** Commands beside the code, and child processes of the code itself. */
  "processes",
  "terminals",
  /** Servers inside the session, and previews of them. */
  "ports",
  /** Threads of the code itself. */
  "threads",
  "volumes",
  /** Storage of the kind `BIND`. */
  "bind",
  /** Images of the caller's own. */
  "images",
  "dependencies",
  /** `network: "egress"`. */
  "egress",
  /** `network: {"allow": […]}`. */
  "network_rules",
  /** Datasets of the kind `LOCAL_RO`. */
  "local_datasets",
]);
export type Capability = z.infer<typeof CapabilitySchema>;

/** The most that an engine can do; a host says what of it there is. */
export const ENGINES = {
  container: { title: "containers", session: "A container", capabilities: CapabilitySchema.options },
  wasm: {
    title: "WebAssembly",
    session: "A session in WebAssembly",
    capabilities: ["bind", "dependencies", "egress", "local_datasets"],
  },
} as const satisfies Record<
  EngineName,
  { title: string; session: string; capabilities: readonly Capability[] }
>;

/** What stands between a session and its host: the host's own kernel with what Docker puts around it, or more than that. */
export const IsolationSchema = z.enum(["container", "sysbox", "gvisor", "kata"]);
export type Isolation = z.infer<typeof IsolationSchema>;

/** What is meant where nothing is said: by daemons and in records of before there was a second engine. */
export const USUAL_ENGINE: EngineName = "container";
