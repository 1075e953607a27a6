/** @module Which files of one ingestion may be kept. A decision only: the database holds the quotas again. */
import type { IngestCheckAnswer, IngestFile } from "@sandbar/shared";
import type { ArtifactLimits } from "./settings.ts";

export interface Used {
  readonly sessionBytes: number;
  readonly tenantBytes: number;
  readonly tenantCount: number;
}

/** `recorded` says of a position in `files` that it was recorded before: it costs nothing. */
export function refusals(
  files: readonly IngestFile[],
  recorded: ReadonlySet<number>,
  used: Used,
  limits: ArtifactLimits,
  taken = 0,
): IngestCheckAnswer["refused"] {
  const refused: IngestCheckAnswer["refused"] = [];
  let { sessionBytes, tenantBytes, tenantCount } = used;
  let kept = taken;
  files.forEach((file, index) => {
    if (recorded.has(index)) return;
    const refuse = (reason: string, final: boolean) => refused.push({ index, reason, final });
    if (file.size > limits.fileBytes)
      refuse(`too large: ${file.size} bytes, an artifact may have ${limits.fileBytes}`, true);
    else if (kept >= limits.perExecution)
      refuse(`too many: an execution may leave ${limits.perExecution} artifacts`, false);
    else if (sessionBytes + file.size > limits.sessionBytes)
      refuse(`over quota: the session's artifacts may have ${limits.sessionBytes} bytes`, false);
    else if (tenantBytes + file.size > limits.tenantBytes)
      refuse(`over quota: the tenant's artifacts may have ${limits.tenantBytes} bytes`, false);
    else if (tenantCount + 1 > limits.tenantCount)
      refuse(`over quota: the tenant may have ${limits.tenantCount} artifacts`, false);
    else {
      kept++;
      sessionBytes += file.size;
      tenantBytes += file.size;
      tenantCount++;
    }
  });
  return refused;
}
