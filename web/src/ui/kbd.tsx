const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);
const SYMBOLS: Record<string, string> = MAC
  ? { Mod: "⌘", Shift: "⇧", Alt: "⌥", Enter: "↵" }
  : { Mod: "Ctrl", Enter: "↵" };

/** A shortcut as it is written in the registry: "Mod+K", or "g s" for one key after the other. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className="inline-flex items-center gap-1">
      {keys.split(/[+ ]/).map((key) => (
        <kbd
          key={key}
          className="inline-flex h-4.5 min-w-4.5 items-center justify-center rounded border border-line-strong bg-sunken px-1 font-sans text-2xs text-muted"
        >
          {SYMBOLS[key] ?? key}
        </kbd>
      ))}
    </span>
  );
}
