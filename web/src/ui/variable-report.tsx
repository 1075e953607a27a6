import type { ContextReport } from "@sandbar/shared";
import { Badge } from "./badge.tsx";
import { languageName } from "./language-name.ts";

/** What is whole needs no colour. */
const TONES = { saved: "neutral", degraded: "warn", lost: "danger" } as const;

/** What became of each variable, context by context; those that are not whole come first. */
export function VariableReport({ contexts }: { contexts: readonly ContextReport[] }) {
  return (
    <div className="space-y-4">
      {contexts.map((context) => (
        <section key={context.name} aria-label={`Context ${context.name}`}>
          <h3 className="mb-1.5 flex flex-wrap items-center gap-2">
            <code className="font-medium">{context.name}</code>
            <span className="text-xs text-faint">{languageName(context.language)}</span>
            <Counts report={context} />
          </h3>
          {context.variables.length > 0 && (
            <ul className="divide-y divide-line/70 rounded-lg border bg-surface">
              {context.variables.map(({ name, type, status, reason }) => (
                <li
                  key={name}
                  className="grid grid-cols-[minmax(5rem,2fr)_3fr_auto] items-baseline gap-x-3 px-3 py-1"
                >
                  <code className="truncate text-xs font-medium" title={name}>
                    {name}
                  </code>
                  <span className="min-w-0 text-xs break-words text-muted">{reason ?? type}</span>
                  <Badge tone={TONES[status]}>{status}</Badge>
                </li>
              ))}
            </ul>
          )}
          <Unnamed report={context} />
        </section>
      ))}
    </div>
  );
}

type Report = Pick<ContextReport, "saved" | "degraded" | "lost">;

const KINDS = ["saved", "degraded", "lost"] as const;

/** "12 saved, 1 degraded": what there is none of is not named. */
export function Counts({ report }: { report: Report }) {
  const some = KINDS.filter((kind) => report[kind] > 0);
  if (some.length === 0) return <span className="text-xs text-faint">no variables</span>;
  return (
    <span className="inline-flex flex-wrap gap-1">
      {some.map((kind) => (
        <Badge key={kind} tone={TONES[kind]}>
          {report[kind].toLocaleString()} {kind}
        </Badge>
      ))}
    </span>
  );
}

export function countsOf(contexts: readonly Report[]): Report {
  const all = { saved: 0, degraded: 0, lost: 0 };
  for (const context of contexts) for (const kind of KINDS) all[kind] += context[kind];
  return all;
}

function Unnamed({ report }: { report: ContextReport }) {
  const left = report.saved + report.degraded + report.lost - report.variables.length;
  if (left <= 0) return null;
  return <p className="mt-1 text-xs text-faint">and {left.toLocaleString()} more</p>;
}
