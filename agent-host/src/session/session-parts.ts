/** @module The parts of the daemon that every session of this host shares. */
import type { ArtifactIngest } from "../artifacts/artifact-ingest.ts";
import type { Upward } from "../control-plane/link.ts";
import type { Datasets } from "../datasets/datasets.ts";
import type { Engine } from "../engine/engine.ts";
import type { Removals } from "../engine/removals.ts";
import type { ReportWindows } from "../execution/report-window.ts";
import type { SettledOutcomes } from "../execution/settled-outcomes.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { Journal } from "../journal/journal.ts";

export interface SessionParts {
  readonly config: Config;
  readonly journal: Journal;
  readonly engine: Engine;
  readonly link: Upward;
  readonly settled: SettledOutcomes;
  readonly windows: ReportWindows;
  readonly artifacts: ArtifactIngest;
  readonly datasets: Datasets;
  readonly removals: Removals;
  readonly log: Log;
}
