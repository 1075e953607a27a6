import { Database } from "lucide-react";
import type { ReactNode } from "react";
import { EmptyState } from "../../ui/empty-state.tsx";

const MODES = [
  {
    access: "API",
    label: "Staged on demand",
    about:
      "You stage what code may see, from a source, an artifact or your own bytes. It is at /session/data.",
  },
  {
    access: "LOCAL_RO",
    label: "The host's, read-only",
    about: "Code sees the folder that the host's operator has set, read-only, at /data.",
  },
  {
    access: "NONE",
    label: "None",
    about: "Code sees no data but its own. Sessions are made like this unless told otherwise.",
  },
] as const;

/** Nothing is staged: how data come to sessions at all. */
export function ThreeModes({ title, action }: { title: string; action?: ReactNode }) {
  return (
    <EmptyState icon={<Database />} title={title} action={action}>
      <p>How a session gets at data is chosen when it is made:</p>
      <dl className="mt-3 space-y-2 text-left">
        {MODES.map(({ access, label, about }) => (
          <div key={access} className="grid grid-cols-[9rem_1fr] gap-3">
            <dt>
              <span className="block font-medium text-text">{label}</span>
              <code className="text-xs">{access}</code>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </EmptyState>
  );
}
