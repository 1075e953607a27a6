import { SandbarError, type Session, type SessionRecord } from "@sandbar/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import {
  Camera,
  CircleStop,
  Copy,
  Database,
  FolderTree,
  Globe,
  Info,
  ListTree,
  NotebookPen,
  Package,
  ServerOff,
  Share2,
  SquareTerminal,
} from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { queryClient } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { type Command, useCommands } from "../../shell/commands.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { Button } from "../../ui/button.tsx";
import { formatBytes } from "../../ui/bytes.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { copyText } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { languageName } from "../../ui/language-name.ts";
import { Sparkline } from "../../ui/sparkline.tsx";
import { StateDot } from "../../ui/state-dot.tsx";
import { TAB_LOOK } from "../../ui/tabs.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { ShareAccess } from "./share-access.tsx";
import { isAble, isAlive, useSession } from "./use-session.ts";

const TABS = [
  { to: "/sessions/$id", label: "Notebook", icon: <NotebookPen />, key: "1", exact: true },
  { to: "/sessions/$id/terminal", label: "Terminal", icon: <SquareTerminal />, key: "2", needs: "terminals" },
  { to: "/sessions/$id/files", label: "Files", icon: <FolderTree />, key: "3" },
  { to: "/sessions/$id/processes", label: "Processes", icon: <ListTree />, key: "4", needs: "processes" },
  { to: "/sessions/$id/artifacts", label: "Artifacts", icon: <Package />, key: "5" },
  { to: "/sessions/$id/datasets", label: "Datasets", icon: <Database />, key: "6" },
  { to: "/sessions/$id/snapshots", label: "Snapshots", icon: <Camera />, key: "7" },
  { to: "/sessions/$id/network", label: "Network", icon: <Globe />, key: "8", ruled: true },
  { to: "/sessions/$id/details", label: "Details", icon: <Info />, key: "9" },
] as const;

/** Around the rooms of one session: what it is, how it does, and the way between them. */
export function SessionRoom() {
  const session = useSession();
  const navigate = useNavigate();
  const { info, id } = session;
  const alive = isAlive(session);
  const [stopping, setStopping] = useState(false);
  const [sharing, setSharing] = useState(false);
  const tabs = TABS.filter(
    (tab) =>
      (!("needs" in tab) || isAble(session, tab.needs)) &&
      (!("ruled" in tab) || typeof info.network === "object"),
  );
  const strip = useActiveInSight();
  useCrumbs([{ label: "Sessions", to: "/sessions" }, { label: session.key }]);
  useCommands([
    ...tabs.map(
      ({ to, label, icon, key }): Command => ({
        id: `tab.${label}`,
        title: label,
        group: "This session",
        icon,
        shortcut: `t ${key}`,
        run: () => void navigate({ to, params: { id } }),
      }),
    ),
    {
      id: "session.copy-id",
      title: "Copy the session's id",
      group: "This session",
      icon: <Copy />,
      run: () => void copyText(id).then(() => toast("Copied", id)),
    },
    ...(alive
      ? [
          {
            id: "session.share",
            title: "Share access to this session",
            group: "This session",
            icon: <Share2 />,
            run: () => setSharing(true),
          },
          {
            id: "session.stop",
            title: "Stop this session",
            group: "This session",
            icon: <CircleStop />,
            run: () => setStopping(true),
          },
        ]
      : []),
  ]);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="shrink-0 border-b px-4 pt-2 sm:px-6">
        <h1 className="sr-only">Session {session.key}</h1>
        <div className="flex min-h-8 flex-wrap items-center gap-x-4 gap-y-1 text-muted">
          <StateDot state={info.status} className="font-medium text-text" />
          <span>
            {languageName(info.runtime)}
            {info.engine === "wasm" && " in WebAssembly"}
          </span>
          <span title={new Date(info.created_at).toLocaleString()}>
            <Time at={info.created_at} style="age" /> old
          </span>
          {alive && info.expires_at && (
            <span className="hidden md:inline">
              ends <Time at={info.expires_at} />
            </span>
          )}
          {info.network !== "none" && (
            <span className="hidden lg:inline">
              {info.network === "egress" ? "internet" : "network by name"}
            </span>
          )}
          {info.storage === "BIND" && <span className="hidden lg:inline">files on the host</span>}
          <span className="flex-1" />
          {alive && <Load />}
          {alive && (
            <>
              <Button size="sm" icon={<Share2 />} onClick={() => setSharing(true)}>
                Share
              </Button>
              <Button size="sm" icon={<CircleStop />} onClick={() => setStopping(true)}>
                Stop
              </Button>
            </>
          )}
        </div>
        {info.error && <ErrorNote error={info.error} className="my-2" />}
        {alive && <HostAway />}
        <nav
          ref={strip}
          aria-label="Session"
          className="fade-right -mr-4 flex gap-5 overflow-x-auto pr-10 [scrollbar-width:none] sm:mr-0 sm:pr-0"
        >
          {tabs.map(({ to, label, ...rest }) => (
            <Link
              key={to}
              to={to}
              params={{ id }}
              activeOptions={{ exact: "exact" in rest }}
              className={TAB_LOOK}
            >
              {label}
            </Link>
          ))}
        </nav>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Outlet />
      </div>
      <ShareAccess session={session} open={sharing} onOpenChange={setSharing} />
      <ConfirmDialog
        open={stopping}
        onOpenChange={setStopping}
        title="Stop this session?"
        action="Stop session"
        onConfirm={() => stop(session)}
      >
        Variables, processes and files in memory are lost. What lies in <code>/session/artifacts</code> is
        kept.
      </ConfirmDialog>
    </div>
  );
}

/** What watches the session hears of it first, and asks a session that ends nothing more. */
async function stop(session: Session): Promise<void> {
  const key = keys.session(session.id);
  queryClient.setQueryData<SessionRecord>(key, (info) => info && { ...info, status: "stopping" });
  await session.stop().finally(() => queryClient.invalidateQueries({ queryKey: key, exact: true }));
}

/** On a phone not all tabs fit: the one that is open is scrolled to. */
function useActiveInSight() {
  const strip = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const active = strip.current?.querySelector('[data-status="active"]');
    // At its end the strip fades out, and the one that is open must not.
    active?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [path]);
  return strip;
}

function useMetrics() {
  const session = useSession();
  return useQuery({
    queryKey: keys.metrics(session.id),
    queryFn: () => session.metrics(),
    refetchInterval: 5000,
    retry: false,
  });
}

/** Only the host knows the metrics, so they tell whether it answers; asking again tells when it is back. */
function HostAway() {
  const { error } = useMetrics();
  const away = error instanceof SandbarError && error.code === "HOST_UNREACHABLE";
  return (
    <div role="status">
      {away && (
        <p className="my-1.5 flex items-center gap-2 rounded-md bg-warn-soft px-3 py-1.5 text-warn">
          <ServerOff className="size-4 shrink-0" aria-hidden />
          This session's host cannot be reached. What runs there goes on, and shows here when it is back.
        </p>
      )}
    </div>
  );
}

/** The last ten minutes in two small lines. */
function Load() {
  const metrics = useMetrics();
  const now = metrics.data?.data.at(-1);
  if (!metrics.data || !now) return null;
  const { data, limits } = metrics.data;
  return (
    <>
      <span className="hidden items-center gap-2 sm:flex">
        <span className="text-xs text-faint">CPU</span>
        <Sparkline
          values={data.map(({ cpu_percent }) => cpu_percent)}
          max={Math.max(100, limits.cpus * 100)}
          label={`CPU, now ${Math.round(now.cpu_percent)} %`}
          width={64}
        />
        <span className="w-9 text-right text-xs tabular-nums">{Math.round(now.cpu_percent)} %</span>
      </span>
      <span className="hidden items-center gap-2 sm:flex">
        <span className="text-xs text-faint">Memory</span>
        <Sparkline
          values={data.map(({ memory_bytes }) => memory_bytes)}
          max={limits.memory_bytes}
          label={`Memory, now ${formatBytes(now.memory_bytes)} of ${formatBytes(limits.memory_bytes)}`}
          width={64}
        />
        <span className="text-xs whitespace-nowrap tabular-nums">
          {formatBytes(now.memory_bytes)}{" "}
          <span className="text-faint">of {formatBytes(limits.memory_bytes)}</span>
        </span>
      </span>
    </>
  );
}
