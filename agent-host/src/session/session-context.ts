/** @module The parts of the daemon that sessions are made of. */
import type { ArtifactExport } from "../artifacts/artifact-export.ts";
import type { ArtifactIngest } from "../artifacts/artifact-ingest.ts";
import type { LateMounts } from "../box/late-mounts.ts";
import type { Removals } from "../box/removals.ts";
import type { Upward } from "../control-plane/link.ts";
import type { Datasets } from "../datasets/datasets.ts";
import type { Containers } from "../docker/containers.ts";
import type { ReportWindows } from "../execution/report-window.ts";
import type { SettledOutcomes } from "../execution/settled-outcomes.ts";
import type { FileCalls } from "../files/file-calls.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal } from "../journal/journal.ts";
import type { Pool } from "../pool/pool.ts";
import type { ProcessCalls } from "../processes/process-calls.ts";
import type { Preparation } from "../provision/preparation.ts";
import type { VolumeCalls } from "../provision/volume-calls.ts";

export interface SessionContext {
  readonly config: Config;
  readonly journal: Journal;
  readonly containers: Containers;
  readonly link: Upward;
  readonly settled: SettledOutcomes;
  readonly windows: ReportWindows;
  readonly files: FileCalls;
  readonly processes: ProcessCalls;
  readonly artifacts: ArtifactIngest;
  readonly exports: ArtifactExport;
  readonly datasets: Datasets;
  readonly pool: Pool;
  readonly lateMounts: LateMounts;
  readonly preparation: Preparation;
  readonly volumeCalls: VolumeCalls;
  readonly removals: Removals;
  readonly log: Log;
}
