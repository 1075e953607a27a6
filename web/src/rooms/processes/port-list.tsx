import type { ListeningPort } from "@sandbar/sdk";
import { clsx } from "clsx";
import { Globe } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Input } from "../../ui/input.tsx";

/** Where something listens, and a line for a port where nothing does yet. */
export function PortList({
  ports,
  current,
  onOpen,
}: {
  ports: readonly ListeningPort[] | undefined;
  current: number | undefined;
  onOpen: (port: number) => void;
}) {
  const [typed, setTyped] = useState("");
  const wanted = Number(typed);
  const valid = Number.isInteger(wanted) && wanted > 0 && wanted < 65_536;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (valid) onOpen(wanted);
  };
  return (
    <section aria-labelledby="ports-title" className="flex max-h-1/2 shrink-0 flex-col border-t">
      <h2 id="ports-title" className="px-3 pt-3 pb-1 text-xs font-medium text-muted">
        Ports
      </h2>
      {ports && ports.length > 0 ? (
        <ul className="min-h-0 overflow-y-auto px-1">
          {ports.map((each) => (
            <li key={each.port}>
              <button
                type="button"
                aria-current={each.port === current || undefined}
                title={each.command ?? undefined}
                onClick={() => onOpen(each.port)}
                className={clsx(
                  "flex w-full items-center gap-2.5 rounded-md px-2.5 py-1.5 text-left text-xs",
                  each.port === current ? "bg-hover" : "hover:bg-hover/60",
                )}
              >
                <Globe className="size-3.5 shrink-0 text-faint" aria-hidden />
                <span className="font-medium tabular-nums">
                  <span className="sr-only">Open port </span>
                  {each.port}
                </span>
                <code className="min-w-0 flex-1 truncate text-muted">{each.command ?? "–"}</code>
                <span className="shrink-0 text-faint">{each.addresses[0]}</span>
              </button>
            </li>
          ))}
        </ul>
      ) : (
        <p className="px-3 text-xs text-faint">
          {ports ? "Nothing listens. A server that does shows here, and opens apart from the console." : " "}
        </p>
      )}
      <form onSubmit={submit} className="flex gap-2 p-3">
        <Input
          aria-label="Another port"
          inputMode="numeric"
          placeholder="Another port"
          className="flex-1"
          value={typed}
          onChange={(event) => setTyped(event.target.value.trim())}
        />
        <Button type="submit" disabled={!valid}>
          Open
        </Button>
      </form>
    </section>
  );
}
