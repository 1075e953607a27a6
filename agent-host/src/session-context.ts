/** @module The parts of the daemon that sessions are made of. */
import type { ArtifactExport } from "./artifact-export.ts";
import type { ArtifactIngest } from "./artifact-ingest.ts";
import type { Config } from "./config.ts";
import type { Containers } from "./containers.ts";
import type { Datasets } from "./datasets.ts";
import type { FileCalls } from "./file-calls.ts";
import type { Journal } from "./journal.ts";
import type { LateMounts } from "./late-mounts.ts";
import type { Upward } from "./link.ts";
import type { Log } from "./log.ts";
import type { Pool } from "./pool.ts";
import type { Preparation } from "./preparation.ts";
import type { ProcessCalls } from "./process-calls.ts";
import type { Removals } from "./removals.ts";
import type { ReportWindows } from "./report-window.ts";
import type { SettledOutcomes } from "./settled-outcomes.ts";
import type { VolumeCalls } from "./volume-calls.ts";

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
