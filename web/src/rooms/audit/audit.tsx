import type { AuditEntry } from "@sandbar/sdk";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ScrollText, Search } from "lucide-react";
import { useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Input } from "../../ui/input.tsx";
import { Page } from "../../ui/page.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Select } from "../../ui/select.tsx";
import { Table } from "../../ui/table.tsx";
import { useWidth } from "../../ui/use-width.ts";
import { auditColumns } from "./audit-columns.tsx";
import { AuditDialog } from "./audit-dialog.tsx";
import { type AuditSearch, filterOf, type Range } from "./audit-filter.ts";
import { useKeyNames } from "./use-key-names.ts";

const PAGE = 100;
/** Lines appear within seconds; who has scrolled further up is left alone. */
const AGAIN_MS = 5000;

const KINDS = [
  { value: "all", label: "Everything" },
  { value: "session.", label: "Sessions" },
  { value: "artifact.", label: "Artifacts" },
  { value: "volume.", label: "Volumes" },
  { value: "key.", label: "Keys" },
  { value: "host.", label: "Hosts" },
  { value: "source.", label: "Dataset sources" },
  { value: "policy.", label: "Policies" },
  { value: "settings.", label: "Settings" },
  { value: "console.", label: "Console" },
];
const RESULTS = [
  { value: "all", label: "All" },
  { value: "ok", label: "Done" },
  { value: "refused", label: "Refused" },
] as const;
const SINCE: { value: Range; label: string }[] = [
  { value: "1h", label: "1 h" },
  { value: "24h", label: "24 h" },
  { value: "7d", label: "7 d" },
  { value: "all", label: "All" },
];

/** Who did what: of one's own tenant, and for operators of all. */
export function AuditRoom() {
  useCrumbs([{ label: "Audit" }]);
  const operates = mayOperate(useMe());
  const navigate = useNavigate();
  const chosen: AuditSearch = useSearch({ from: "/inside/audit" });
  const [typed, setTyped] = useState(chosen.q ?? "");
  const [open, setOpen] = useState<AuditEntry | null>(null);
  const [body, width] = useWidth<HTMLDivElement>();
  const keyName = useKeyNames();
  const query = useInfiniteQuery({
    queryKey: [...keys.audit, chosen],
    queryFn: ({ pageParam }) => sandbar.audit(filterOf(chosen, Date.now())).page(pageParam, PAGE),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : AGAIN_MS),
  });
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  const rows = useMemo(() => data?.pages.flatMap((page) => page.data) ?? [], [data]);
  const choose = (change: AuditSearch) =>
    void navigate({ to: "/audit", search: { ...chosen, ...change }, replace: true });
  useCommands([
    {
      id: "audit.find",
      title: "Search the audit log",
      group: "Audit",
      shortcut: "/",
      run: () => document.getElementById("audit-search")?.focus(),
    },
  ]);

  return (
    <Page
      title="Audit"
      filters={
        <>
          <form
            className="w-full sm:w-64"
            onSubmit={(event) => {
              event.preventDefault();
              choose({ q: typed.trim() || undefined });
            }}
          >
            <Input
              id="audit-search"
              aria-label="Search the audit log"
              icon={<Search />}
              placeholder="Key, target, address, action"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
              onBlur={() => choose({ q: typed.trim() || undefined })}
            />
          </form>
          <Select
            label="What was done"
            value={chosen.kind ?? "all"}
            options={KINDS}
            onChange={(kind) => choose({ kind: kind === "all" ? undefined : kind })}
          />
          <Segments
            label="How it ended"
            value={chosen.result ?? "all"}
            options={RESULTS}
            onChange={(result) => choose({ result: result === "all" ? undefined : result })}
          />
          <Segments
            label="Since when"
            value={chosen.range ?? "7d"}
            options={SINCE}
            onChange={(range) => choose({ range: range === "7d" ? undefined : range })}
          />
        </>
      }
    >
      {error && <ErrorNote error={error} onRetry={() => void refetch()} className="mb-3" />}
      <div ref={body} className="flex min-h-0 flex-1 flex-col">
        <Table
          label="Audit log"
          className="max-h-full"
          width={width}
          rows={rows}
          columns={auditColumns({ keyName, withTenant: operates })}
          rowKey={({ id }) => id}
          onOpen={setOpen}
          loading={isPending}
          onEnd={() => hasNextPage && !isFetchingNextPage && void fetchNextPage()}
          empty={
            !error && (
              <EmptyState
                icon={<ScrollText />}
                title={Object.keys(chosen).length > 0 ? "Nothing matches" : "Nothing was done in this time"}
                action={
                  <Button
                    onClick={() => {
                      setTyped("");
                      void navigate({ to: "/audit", search: { range: "all" }, replace: true });
                    }}
                  >
                    Show all
                  </Button>
                }
              >
                Every change has a line here, and every refusal: who asked, from where, and how it ended. What
                a key does inside a session has one line an hour.
              </EmptyState>
            )
          }
        />
      </div>
      <AuditDialog
        entry={open}
        keyName={keyName}
        onClose={() => setOpen(null)}
        onFind={(q) => {
          setOpen(null);
          setTyped(q);
          choose({ q });
        }}
      />
    </Page>
  );
}
