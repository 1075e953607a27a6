import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import {
  BookOpen,
  Keyboard,
  LogOut,
  Menu as MenuIcon,
  Monitor,
  Moon,
  Search,
  Sun,
  WifiOff,
} from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import { lazy, Suspense, useEffect, useState } from "react";
import { queryClient } from "../api/client.ts";
import { connection, signedOut } from "../api/connection.ts";
import { followEvents } from "../api/live.ts";
import { type Me, signOut, useMe } from "../api/me.ts";
import { useStore } from "../api/store.ts";
import { IconButton } from "../ui/icon-button.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { toastError } from "../ui/toast.tsx";
import { type Command, useCommands } from "./commands.ts";
import { useCurrentCrumbs } from "./crumbs.ts";
import { Logo } from "./logo.tsx";
import { NavList, OPERATOR_ROOMS, ROOMS } from "./nav.tsx";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { useShortcuts } from "./shortcuts.ts";
import { nextTheme, setTheme, useTheme } from "./theme.ts";

const loadPalette = () => import("./palette.tsx");
const Palette = lazy(loadPalette);
/** By then the room itself has loaded, and nobody has typed into a palette that is still on its way. */
const PALETTE_SOON_MS = 1000;

/** Around every room: navigation, where one is, what one can do, and whether the line holds. */
export function Shell() {
  const me = useMe();
  const navigate = useNavigate();
  const theme = useTheme();
  const [palette, setPalette] = useState(false);
  const [sheet, setSheet] = useState(false);
  const [drawer, setDrawer] = useState(false);
  useShortcuts();
  useEvents(me.key.id);
  useSignedOut();
  useEffect(() => {
    const soon = setTimeout(() => void loadPalette().catch(() => {}), PALETTE_SOON_MS);
    return () => clearTimeout(soon);
  }, []);

  const leave = () => {
    signOut().then(
      () => navigate({ to: "/sign-in" }).then(() => queryClient.clear()),
      (error: unknown) => toastError(error, "Sign out"),
    );
  };
  const rooms = [...ROOMS, ...OPERATOR_ROOMS].filter((room) => room.for?.(me) ?? true);
  useCommands([
    ...rooms.map(
      ({ to, label, icon, shortcut }): Command => ({
        id: `go${to}`,
        title: label,
        group: "Go to",
        icon,
        shortcut,
        run: () => void navigate({ to }),
      }),
    ),
    {
      id: "palette",
      title: "Commands",
      group: "Console",
      shortcut: "Mod+K",
      run: () => setPalette((open) => !open),
    },
    {
      id: "shortcuts",
      title: "Keyboard shortcuts",
      group: "Console",
      icon: <Keyboard />,
      shortcut: "?",
      run: () => setSheet(true),
    },
    {
      id: "theme",
      title: `Theme: ${nextTheme(theme)}`,
      group: "Console",
      icon: <Moon />,
      keywords: "dark light system",
      run: () => setTheme(nextTheme(theme)),
    },
    {
      id: "docs",
      title: "API reference",
      group: "Console",
      icon: <BookOpen />,
      run: () => void window.open("/docs", "_blank", "noopener"),
    },
    { id: "sign-out", title: "Sign out", group: "Console", icon: <LogOut />, run: leave },
  ]);

  const side = (
    <Side me={me} onGo={() => setDrawer(false)} onPalette={() => setPalette(true)} onLeave={leave} />
  );
  return (
    <div className="flex h-full">
      <a
        href="#room"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-raised focus:px-3 focus:py-2 focus:shadow-pop"
      >
        Skip to the room
      </a>
      <aside className="hidden w-52 shrink-0 border-r bg-bg md:block">{side}</aside>
      <Radix.Root open={drawer} onOpenChange={setDrawer}>
        <Radix.Portal>
          <Radix.Overlay className="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]" />
          <Radix.Content
            aria-describedby={undefined}
            className="fixed inset-y-0 left-0 z-40 w-64 animate-sheet bg-bg shadow-pop outline-none"
          >
            <Radix.Title className="sr-only">Navigation</Radix.Title>
            {side}
          </Radix.Content>
        </Radix.Portal>
      </Radix.Root>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex h-11 shrink-0 items-center gap-2 border-b px-3 sm:px-6">
          <IconButton
            label="Navigation"
            icon={<MenuIcon />}
            className="-ml-1 md:hidden"
            onClick={() => setDrawer(true)}
          />
          <Crumbs />
          <IconButton
            label="Commands"
            shortcut="Mod+K"
            icon={<Search />}
            className="md:hidden"
            onClick={() => setPalette(true)}
          />
        </header>
        <ConnectionBanner />
        <main id="room" className="min-h-0 flex-1 overflow-y-auto">
          <Outlet />
        </main>
      </div>
      <Suspense>{palette && <Palette open={palette} onOpenChange={setPalette} />}</Suspense>
      <ShortcutSheet open={sheet} onOpenChange={setSheet} />
    </div>
  );
}

function Side({
  me,
  onGo,
  onPalette,
  onLeave,
}: {
  me: Me;
  onGo: () => void;
  onPalette: () => void;
  onLeave: () => void;
}) {
  const theme = useTheme();
  return (
    <div className="flex h-full flex-col gap-3 p-3">
      <Link to="/sessions" onClick={onGo} className="px-1.5 pt-0.5 text-base">
        <Logo />
      </Link>
      <button
        type="button"
        onClick={() => {
          onGo();
          onPalette();
        }}
        className="flex h-8 items-center gap-2 rounded-md border bg-surface px-2.5 text-faint hover:border-line-strong"
      >
        <Search className="size-3.5" aria-hidden />
        <span className="flex-1 text-left">Search</span>
        <Kbd keys="Mod+K" />
      </button>
      <nav aria-label="Rooms" className="min-h-0 flex-1 overflow-y-auto">
        <NavList rooms={ROOMS} onGo={onGo} />
        <NavList
          rooms={OPERATOR_ROOMS.filter((room) => room.for?.(me) ?? true)}
          heading="Operate"
          onGo={onGo}
        />
      </nav>
      <div className="flex items-center gap-1 border-t pt-2">
        <div className="min-w-0 flex-1 px-1.5 leading-tight">
          <p className="truncate font-medium" title={me.key.id}>
            {me.key.name}
          </p>
          <p className="truncate text-xs text-faint">{me.tenant}</p>
        </div>
        <IconButton
          label={`Theme: ${theme}`}
          icon={theme === "system" ? <Monitor /> : theme === "light" ? <Sun /> : <Moon />}
          onClick={() => setTheme(nextTheme(theme))}
        />
        <IconButton label="Sign out" icon={<LogOut />} onClick={onLeave} />
      </div>
    </div>
  );
}

function Crumbs() {
  const crumbs = useCurrentCrumbs();
  return (
    <nav aria-label="Breadcrumbs" className="min-w-0 flex-1">
      <ol className="flex min-w-0 items-center gap-1.5 text-muted">
        {crumbs.map(({ label, to }, index) => (
          <li key={`${label}${to}`} className="flex min-w-0 items-center gap-1.5 last:text-text">
            {index > 0 && (
              <span aria-hidden className="text-line-strong">
                /
              </span>
            )}
            {to ? (
              <Link to={to} className="truncate rounded hover:text-text">
                {label}
              </Link>
            ) : (
              <span className="truncate font-medium" aria-current="page">
                {label}
              </span>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function ConnectionBanner() {
  const lost = useStore(connection) === "lost";
  return (
    <div role="status" aria-live="polite">
      {lost && (
        <p className="flex items-center gap-2 border-b bg-warn-soft px-4 py-1.5 text-sm text-warn sm:px-6">
          <WifiOff className="size-4 shrink-0" aria-hidden />
          Connection lost, retrying. What runs goes on; this page catches up by itself.
        </p>
      )}
    </div>
  );
}

/** One stream for all tabs; asks for everything again when the line is back. */
function useEvents(keyId: string): void {
  useEffect(() => {
    const controller = new AbortController();
    void followEvents(keyId, controller.signal);
    let before = connection.get();
    const unsubscribe = connection.subscribe(() => {
      if (before === "lost" && connection.get() === "connected") void queryClient.invalidateQueries();
      before = connection.get();
    });
    return () => {
      controller.abort();
      unsubscribe();
    };
  }, [keyId]);
}

/** An answer said that the cookie is no longer good: to the sign-in page, and back to here afterwards. */
function useSignedOut(): void {
  const navigate = useNavigate();
  const here = useRouterState({ select: ({ location }) => location.href });
  useEffect(
    () =>
      signedOut.subscribe(() => {
        if (here.startsWith("/sign-in")) return;
        void navigate({ to: "/sign-in", search: { back: here } }).then(() => queryClient.clear());
      }),
    [navigate, here],
  );
}
