import { Link } from "@tanstack/react-router";
import {
  Camera,
  ChartColumn,
  Database,
  HardDrive,
  KeyRound,
  MessagesSquare,
  Package,
  Scale,
  ScrollText,
  Server,
  SquareTerminal,
  VenetianMask,
} from "lucide-react";
import type { ReactNode } from "react";
import { type Me, mayAdminister, mayOperate } from "../api/me.ts";

export interface Room {
  to: string;
  label: string;
  icon: ReactNode;
  shortcut: string;
  /** Left out when it answers no. */
  for?: (me: Me) => boolean;
}

export const ROOMS: readonly Room[] = [
  { to: "/sessions", label: "Sessions", icon: <SquareTerminal />, shortcut: "g s" },
  { to: "/chat", label: "Chat", icon: <MessagesSquare />, shortcut: "g c" },
  { to: "/artifacts", label: "Artifacts", icon: <Package />, shortcut: "g a" },
  { to: "/snapshots", label: "Snapshots", icon: <Camera />, shortcut: "g n" },
  { to: "/datasets", label: "Datasets", icon: <Database />, shortcut: "g d" },
  { to: "/volumes", label: "Volumes", icon: <HardDrive />, shortcut: "g v" },
  { to: "/secrets", label: "Secrets", icon: <VenetianMask />, shortcut: "g x" },
  { to: "/usage", label: "Usage", icon: <ChartColumn />, shortcut: "g u" },
  { to: "/audit", label: "Audit", icon: <ScrollText />, shortcut: "g l" },
];

export const OPERATOR_ROOMS: readonly Room[] = [
  { to: "/hosts", label: "Hosts", icon: <Server />, shortcut: "g h", for: mayOperate },
  { to: "/policies", label: "Policies", icon: <Scale />, shortcut: "g p", for: mayOperate },
  { to: "/keys", label: "Keys", icon: <KeyRound />, shortcut: "g k", for: mayAdminister },
];

export function NavList({
  rooms,
  heading,
  onGo,
}: {
  rooms: readonly Room[];
  heading?: string;
  onGo?: () => void;
}) {
  if (rooms.length === 0) return null;
  return (
    <div>
      {heading && <p className="px-2.5 pt-4 pb-1 text-2xs font-medium text-faint">{heading}</p>}
      <ul className="space-y-px">
        {rooms.map(({ to, label, icon }) => (
          <li key={to}>
            <Link
              to={to}
              onClick={onGo}
              className="flex h-8 items-center gap-2.5 rounded-md px-2.5 font-medium text-muted transition-colors hover:bg-hover hover:text-text data-[status=active]:bg-hover data-[status=active]:text-text [&_svg]:size-4 data-[status=active]:[&_svg]:text-accent"
            >
              {icon}
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}
