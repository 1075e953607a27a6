/** @module What a session asks of whatever runs it. */
import { type Capability, ENGINES, type EngineName } from "./engine.ts";
import type { Language, SessionSpec } from "./session.ts";

export interface Needs {
  readonly runtime: Language;
  readonly capabilities: readonly Capability[];
}

export function needsOf(
  spec: Pick<
    SessionSpec,
    "runtime" | "image" | "storage" | "dataset_access" | "network" | "rules" | "dependencies" | "volumes"
  >,
): Needs {
  const capabilities: Capability[] = [];
  if (spec.image !== null) capabilities.push("images");
  if (spec.volumes.length > 0) capabilities.push("volumes");
  if (spec.storage === "BIND") capabilities.push("bind");
  if (spec.dataset_access === "LOCAL_RO") capabilities.push("local_datasets");
  if (spec.network === "egress") capabilities.push("egress");
  if (spec.rules) capabilities.push("network_rules");
  if (Object.keys(spec.dependencies).length > 0) capabilities.push("dependencies");
  return { runtime: spec.runtime, capabilities };
}

/** In words what of the needs an engine lacks, or a host's part of it; empty when it has all. */
export function lackOf(
  engine: EngineName,
  needs: Needs,
  can: readonly Capability[] = ENGINES[engine].capabilities,
): string[] {
  const lacking: string[] = needs.capabilities
    .filter((need) => !can.includes(need))
    .map((need) => WORDS[need]);
  if (engine === "wasm" && needs.runtime !== "python") lacking.unshift(`runtime ${needs.runtime}`);
  return lacking;
}

/** As one asks for it. */
const WORDS: Record<Capability, string> = {
  processes: "processes",
  terminals: "terminals",
  ports: "ports",
  threads: "threads",
  volumes: "volumes",
  bind: "storage BIND",
  images: "images of your own",
  dependencies: "dependencies",
  egress: 'network "egress"',
  network_rules: "network by name",
  local_datasets: "datasets LOCAL_RO",
};

export const unsupportedBy = (engine: EngineName, lacking: readonly string[]): string =>
  `${ENGINES[engine].session} cannot have ${lacking.join(", ")}`;

export const capabilityInWords = (capability: Capability): string => WORDS[capability];
