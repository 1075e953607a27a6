import { ChevronDown, ChevronUp, X } from "lucide-react";
import { useEffect, useState } from "react";
import { useDark } from "../../shell/theme.ts";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input } from "../../ui/input.tsx";
import { searchColours, type Xterm } from "../../ui/xterm.ts";

/** Finds text in what a terminal has shown. */
export function TerminalSearch({ xterm: { search }, onClose }: { xterm: Xterm; onClose: () => void }) {
  const dark = useDark();
  const [text, setText] = useState("");
  const [found, setFound] = useState<{ resultIndex: number; resultCount: number } | null>(null);
  const options = { decorations: searchColours(dark), incremental: false };

  useEffect(() => {
    const listening = search.onDidChangeResults(setFound);
    return () => {
      listening.dispose();
      search.clearDecorations();
    };
  }, [search]);

  const look = (next: string) => {
    setText(next);
    if (next) search.findPrevious(next, { ...options, incremental: true });
    else search.clearDecorations();
  };
  const previous = () => void search.findPrevious(text, options);
  const next = () => void search.findNext(text, options);
  return (
    <search className="absolute top-2 right-4 z-10 flex items-center gap-1 rounded-lg bg-raised p-1 shadow-pop">
      <Input
        autoFocus
        aria-label="Find in the terminal"
        placeholder="Find"
        className="w-44"
        value={text}
        onChange={(event) => look(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          else if (event.key === "Enter") (event.shiftKey ? next : previous)();
          else return;
          event.preventDefault();
        }}
      />
      <span
        role="status"
        className="min-w-14 px-1 text-center text-xs whitespace-nowrap text-muted tabular-nums"
      >
        {text && found
          ? found.resultCount
            ? `${found.resultIndex + 1} of ${found.resultCount}`
            : "none"
          : ""}
      </span>
      <IconButton
        label="Previous"
        shortcut="Enter"
        icon={<ChevronUp />}
        disabled={!text}
        onClick={previous}
      />
      <IconButton
        label="Next"
        shortcut="Shift+Enter"
        icon={<ChevronDown />}
        disabled={!text}
        onClick={next}
      />
      <IconButton label="Close search" icon={<X />} onClick={onClose} />
    </search>
  );
}
