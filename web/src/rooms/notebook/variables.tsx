import type { Language, Session } from "@sandbar/sdk";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useState } from "react";
import { keys } from "../../api/keys.ts";
import { formatBytes } from "../../ui/bytes.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Input } from "../../ui/input.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";

/** What was imported or defined says less than what was computed. */
const isCode = (type: string) =>
  /^(function|type|module|builtin_function_or_method|ABCMeta|ufunc)$/.test(type);

/** What a context holds. Read again when code in it has ended. */
export function Variables({
  session,
  context,
  language,
  busy,
  exists,
}: {
  session: Session;
  context: string;
  language: Language;
  busy: boolean;
  exists: boolean;
}) {
  const [text, setText] = useState("");
  const state = useQuery({
    queryKey: keys.state(session.id, context),
    queryFn: () => session.state({ context }),
    enabled: !busy && exists && language !== "bash",
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (language === "bash")
    return (
      <p className="px-3 py-2 text-xs text-faint">
        A shell does not list its variables. A cell with <code>declare -p</code> prints them.
      </p>
    );
  if (!exists) return <p className="px-3 py-2 text-xs text-faint">Nothing has run in this context yet.</p>;
  if (state.isError)
    return <ErrorNote error={state.error} onRetry={() => void state.refetch()} className="m-2" />;
  // As high as what comes, so that nothing jumps.
  if (!state.data)
    return (
      <div className="px-2 pt-2">
        <Skeleton className="h-8" />
        <div className="space-y-3 px-1 pt-3">
          <Skeleton className="h-3 w-3/4" />
          <Skeleton className="h-3 w-1/2" />
          <Skeleton className="h-3 w-2/3" />
        </div>
      </div>
    );
  const { variables, total, imports, cwd } = state.data;
  const found = [...variables]
    .sort((a, b) => Number(isCode(a.type)) - Number(isCode(b.type)))
    .filter(({ name, type }) => `${name} ${type}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="px-2 pt-2">
        <Input
          icon={<Search />}
          aria-label="Search variables"
          placeholder="Search"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {/* What scrolls must be reachable by keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <div tabIndex={0} className="min-h-0 flex-1 overflow-y-auto py-1.5 -outline-offset-2">
        {total === 0 && <p className="px-3 py-1 text-xs text-faint">No variables yet.</p>}
        <dl>
          {found.map(({ name, type, repr, size }) => (
            <div key={name} className="px-3 py-1 hover:bg-hover/60" title={repr}>
              <dt className="flex items-baseline gap-2 font-mono text-xs">
                <span className="truncate font-medium">{name}</span>
                <span className="ml-auto shrink-0 text-faint">
                  {type}
                  {size !== null && size > 1024 && ` · ${formatBytes(size)}`}
                </span>
              </dt>
              <dd className="truncate font-mono text-2xs text-muted">{repr}</dd>
            </div>
          ))}
        </dl>
        {total > variables.length && (
          <p className="px-3 py-1 text-xs text-faint">
            {(total - variables.length).toLocaleString()} more are not shown.
          </p>
        )}
      </div>
      <div className="shrink-0 space-y-0.5 border-t px-3 py-2 text-2xs text-faint">
        {imports.length > 0 && (
          <p className="line-clamp-2" title={imports.join(", ")}>
            imports {imports.join(", ")}
          </p>
        )}
        <p className="truncate font-mono" title={cwd}>
          {cwd}
        </p>
      </div>
    </div>
  );
}
