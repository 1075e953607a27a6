import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command as Cmdk } from "cmdk";
import { isLive } from "../api/session-live.ts";
import { sessionsQuery } from "../api/sessions-query.ts";
import { Kbd } from "../ui/kbd.tsx";
import { StateDot } from "../ui/state-dot.tsx";
import { type Command, useAllCommands } from "./commands.ts";

/** Of the newest that live; the room of sessions searches all. */
const SESSIONS_FOUND = 200;
const ITEM =
  "flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2.5 data-[selected=true]:bg-hover [&_svg]:size-4 [&_svg]:text-faint";
const GROUP =
  "[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-faint";
const SHELL_GROUPS = ["Go to", "Console"];

/** Everything that can be done here, by name. Loaded when it is first opened. */
export default function Palette({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const navigate = useNavigate();
  const { data: sessions = [] } = useQuery({ ...sessionsQuery, enabled: open });
  const live = sessions.filter(isLive);
  const groups = new Map<string, Command[]>();
  const commands = useAllCommands().filter(
    ({ handledElsewhere, id }) => !handledElsewhere && id !== "palette",
  );
  // The room's own came last, and are what one most likely wants.
  const rooms = commands.filter(({ group }) => !SHELL_GROUPS.includes(group));
  const shell = commands.filter(({ group }) => SHELL_GROUPS.includes(group));
  for (const command of [...rooms, ...shell])
    groups.set(command.group, [...(groups.get(command.group) ?? []), command]);
  return (
    <Cmdk.Dialog
      open={open}
      onOpenChange={onOpenChange}
      label="Commands"
      loop
      overlayClassName="fixed inset-0 z-40 bg-[rgb(0_0_0/0.4)]"
      contentClassName="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-1.5rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-xl bg-raised shadow-pop outline-none"
    >
      <Cmdk.Input
        placeholder="Type a command, a room, a session…"
        className="h-11 w-full border-b bg-transparent px-4 text-base outline-none"
      />
      <Cmdk.List className="max-h-[50vh] overflow-y-auto p-1.5">
        <Cmdk.Empty className="px-3 py-6 text-center text-muted">Nothing has this name.</Cmdk.Empty>
        {[...groups].map(([group, commands]) => (
          <Cmdk.Group key={group} heading={group} className={GROUP}>
            {commands.map((command) => (
              <Cmdk.Item
                key={command.id}
                value={`${command.title} ${command.id}`}
                keywords={command.keywords ? [command.keywords] : undefined}
                onSelect={() => {
                  onOpenChange(false);
                  command.run();
                }}
                className={ITEM}
              >
                {command.icon}
                <span className="flex-1 truncate">{command.title}</span>
                {command.shortcut && <Kbd keys={command.shortcut} />}
              </Cmdk.Item>
            ))}
          </Cmdk.Group>
        ))}
        {live.length > 0 && (
          <Cmdk.Group heading="Open session" className={GROUP}>
            {live.slice(0, SESSIONS_FOUND).map(({ id, key, status, runtime, labels }) => (
              <Cmdk.Item
                key={id}
                value={`${key} ${id}`}
                keywords={[runtime, ...Object.entries(labels).map(([name, value]) => `${name}=${value}`)]}
                onSelect={() => {
                  onOpenChange(false);
                  void navigate({ to: "/sessions/$id", params: { id } });
                }}
                className={ITEM}
              >
                <span className="flex-1 truncate">{key}</span>
                <StateDot state={status} className="text-xs text-muted" />
              </Cmdk.Item>
            ))}
          </Cmdk.Group>
        )}
      </Cmdk.List>
    </Cmdk.Dialog>
  );
}
