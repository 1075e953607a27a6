import { Dialog } from "../ui/dialog.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { useAllCommands } from "./commands.ts";

/** The keys that do something here. */
export function ShortcutSheet({
  open,
  onOpenChange,
}: {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const commands = useAllCommands().filter(({ shortcut }) => shortcut);
  const groups = [...new Set(commands.map(({ group }) => group))];
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Keyboard shortcuts" width="lg">
      <div className="columns-1 gap-8 sm:columns-2">
        {groups.map((group) => (
          <section key={group} className="mb-4 break-inside-avoid">
            <h3 className="mb-1 text-xs font-medium text-faint">{group}</h3>
            <ul>
              {commands
                .filter((command) => command.group === group)
                .map(({ id, title, shortcut }) => (
                  <li key={id} className="flex h-7 items-center justify-between gap-4">
                    {title}
                    <Kbd keys={shortcut!} />
                  </li>
                ))}
            </ul>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
