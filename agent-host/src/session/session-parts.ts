/** @module The parts of the daemon that every session of this host shares. */
import type { ArtifactIngest } from "../artifacts/artifact-ingest.ts";
import type { Upward } from "../control-plane/link.ts";
import type { SignedRequests } from "../control-plane/signed-requests.ts";
import type { Datasets } from "../datasets/datasets.ts";
import type { GateParts } from "../egress/gate.ts";
import type { Engine } from "../engine/engine.ts";
import type { Removals } from "../engine/removals.ts";
import type { ReportWindows } from "../execution/report-window.ts";
import type { SettledOutcomes } from "../execution/settled-outcomes.ts";
import type { Watchers } from "../execution/stages.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal } from "../journal/journal.ts";
import type { SnapshotRestore } from "../snapshots/snapshot-restore.ts";
import type { LeftFolders } from "./left-folders.ts";

export interface SessionParts {
  readonly config: Config;
  readonly journal: Journal;
  readonly engine: Engine;
  readonly link: Upward;
  readonly settled: SettledOutcomes;
  readonly windows: ReportWindows;
  readonly artifacts: ArtifactIngest;
  readonly datasets: Datasets;
  readonly snapshots: SnapshotRestore;
  readonly removals: Removals;
  readonly leftFolders: LeftFolders;
  /** Where sessions' connections may go, whatever their rules say. */
  readonly network: GateParts;
  readonly plane: Pick<SignedRequests, "request">;
  readonly watchers: Watchers;
  readonly log: Log;
}
