/** @module Every address of the console. A room is loaded when it is first entered. */
import { SandbarError } from "@sandbar/sdk";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { queryClient } from "./api/client.ts";
import { meQuery } from "./api/me.ts";
import { auditSearch } from "./rooms/audit/audit-filter.ts";
import { Missing } from "./shell/missing.tsx";
import { RouteFailure } from "./shell/route-failure.tsx";
import { Shell } from "./shell/shell.tsx";

const root = createRootRoute({ component: Outlet, notFoundComponent: Missing });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: ({ back }): { back?: string } =>
    // Only places of this console: "//elsewhere" is an address of another host.
    typeof back === "string" && /^\/(?![/\\])/.test(back) ? { back } : {},
  component: lazyRouteComponent(() => import("./rooms/sign-in/sign-in.tsx"), "SignIn"),
});

/** Everything else needs somebody who is signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: "inside",
  component: Shell,
  errorComponent: RouteFailure,
  beforeLoad: async ({ location }) => {
    try {
      await queryClient.ensureQueryData(meQuery);
    } catch (error) {
      if (error instanceof SandbarError && error.status === 401)
        throw redirect({ to: "/sign-in", search: { back: location.href } });
      throw error;
    }
  },
});

const home = createRoute({
  getParentRoute: () => inside,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/sessions", replace: true });
  },
});

const sessions = createRoute({
  getParentRoute: () => inside,
  path: "/sessions",
  validateSearch: ({ q, show }): { q?: string; show?: "ended" | "all" } => ({
    ...(typeof q === "string" && q ? { q } : {}),
    ...(show === "ended" || show === "all" ? { show } : {}),
  }),
  component: lazyRouteComponent(() => import("./rooms/sessions/sessions.tsx"), "Sessions"),
});

const session = createRoute({
  getParentRoute: () => inside,
  path: "/sessions/$id",
  component: lazyRouteComponent(() => import("./rooms/session/session.tsx"), "SessionRoom"),
});

/** A session's tabs, each a room of its own. */
const sessionTabs = [
  createRoute({
    getParentRoute: () => session,
    path: "/",
    component: lazyRouteComponent(() => import("./rooms/notebook/notebook.tsx"), "Notebook"),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/terminal",
    validateSearch: ({ process }): { process?: string } => (typeof process === "string" ? { process } : {}),
    component: lazyRouteComponent(() => import("./rooms/terminal/terminal.tsx"), "TerminalRoom"),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/files",
    validateSearch: ({ path }): { path?: string } => (typeof path === "string" ? { path } : {}),
    component: lazyRouteComponent(() => import("./rooms/files/files.tsx"), "FilesRoom"),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/processes",
    validateSearch: ({ process, port }): { process?: string; port?: number } => ({
      ...(typeof process === "string" ? { process } : {}),
      ...(typeof port === "number" ? { port } : {}),
    }),
    component: lazyRouteComponent(() => import("./rooms/processes/processes.tsx"), "ProcessesRoom"),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/artifacts",
    component: lazyRouteComponent(
      () => import("./rooms/artifacts/session-artifacts.tsx"),
      "SessionArtifacts",
    ),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/datasets",
    component: lazyRouteComponent(() => import("./rooms/datasets/session-datasets.tsx"), "SessionDatasets"),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/snapshots",
    component: lazyRouteComponent(
      () => import("./rooms/snapshots/session-snapshots.tsx"),
      "SessionSnapshots",
    ),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/network",
    component: lazyRouteComponent(() => import("./rooms/network/session-network.tsx"), "SessionNetworkRoom"),
  }),
  createRoute({
    getParentRoute: () => session,
    path: "/details",
    component: lazyRouteComponent(() => import("./rooms/session/details.tsx"), "Details"),
  }),
] as const;

const chatRoom = lazyRouteComponent(() => import("./rooms/chat/chat.tsx"), "ChatRoom");

const chat = createRoute({ getParentRoute: () => inside, path: "/chat", component: chatRoom });

const thread = createRoute({ getParentRoute: () => inside, path: "/chat/$threadId", component: chatRoom });

const artifacts = createRoute({
  getParentRoute: () => inside,
  path: "/artifacts",
  component: lazyRouteComponent(() => import("./rooms/artifacts/artifacts.tsx"), "ArtifactsRoom"),
});

const snapshots = createRoute({
  getParentRoute: () => inside,
  path: "/snapshots",
  component: lazyRouteComponent(() => import("./rooms/snapshots/snapshots.tsx"), "SnapshotsRoom"),
});

const volumes = createRoute({
  getParentRoute: () => inside,
  path: "/volumes",
  component: lazyRouteComponent(() => import("./rooms/volumes/volumes.tsx"), "VolumesRoom"),
});

const secrets = createRoute({
  getParentRoute: () => inside,
  path: "/secrets",
  component: lazyRouteComponent(() => import("./rooms/secrets/secrets.tsx"), "SecretsRoom"),
});

const policies = createRoute({
  getParentRoute: () => inside,
  path: "/policies",
  component: lazyRouteComponent(() => import("./rooms/policies/policies.tsx"), "PoliciesRoom"),
});

const datasets = createRoute({
  getParentRoute: () => inside,
  path: "/datasets",
  component: lazyRouteComponent(() => import("./rooms/datasets/datasets.tsx"), "DatasetsRoom"),
});

const usage = createRoute({
  getParentRoute: () => inside,
  path: "/usage",
  component: lazyRouteComponent(() => import("./rooms/usage/usage.tsx"), "UsageRoom"),
});

const audit = createRoute({
  getParentRoute: () => inside,
  path: "/audit",
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import("./rooms/audit/audit.tsx"), "AuditRoom"),
});

const hosts = createRoute({
  getParentRoute: () => inside,
  path: "/hosts",
  component: lazyRouteComponent(() => import("./rooms/hosts/hosts.tsx"), "HostsRoom"),
});

const keys = createRoute({
  getParentRoute: () => inside,
  path: "/keys",
  component: lazyRouteComponent(() => import("./rooms/keys/keys.tsx"), "KeysRoom"),
});

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    inside.addChildren([
      home,
      sessions,
      session.addChildren(sessionTabs),
      chat,
      thread,
      artifacts,
      snapshots,
      datasets,
      volumes,
      secrets,
      usage,
      audit,
      hosts,
      policies,
      keys,
    ]),
  ]),
  defaultPreload: "intent",
  defaultErrorComponent: RouteFailure,
  defaultPendingMs: 300,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
