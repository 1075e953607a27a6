import { Link, Outlet } from "@tanstack/react-router";
import { useCrumbs } from "../../shell/crumbs.ts";
import { StateDot } from "../../ui/state-dot.tsx";
import { TAB_LOOK } from "../../ui/tabs.tsx";
import { useSession } from "./use-session.ts";

const TABS = [
  { to: "/sessions/$id", label: "Notebook", exact: true },
  { to: "/sessions/$id/terminal", label: "Terminal" },
  { to: "/sessions/$id/files", label: "Files" },
  { to: "/sessions/$id/processes", label: "Processes" },
  { to: "/sessions/$id/artifacts", label: "Artifacts" },
  { to: "/sessions/$id/details", label: "Details" },
] as const;

export function SessionRoom() {
  const session = useSession();
  useCrumbs([{ label: "Sessions", to: "/sessions" }, { label: session.key }]);
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="shrink-0 border-b px-4 pt-3 sm:px-6">
        <div className="flex items-center gap-3">
          <h1 className="truncate text-lg font-semibold tracking-tight">{session.key}</h1>
          <StateDot state={session.info.status} />
        </div>
        <nav aria-label="Session" className="mt-1 flex gap-5 overflow-x-auto">
          {TABS.map(({ to, label, ...rest }) => (
            <Link
              key={to}
              to={to}
              params={{ id: session.id }}
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
    </div>
  );
}
