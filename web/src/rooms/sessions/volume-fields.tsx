import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { Button } from "../../ui/button.tsx";
import { IconButton } from "../../ui/icon-button.tsx";
import { Input } from "../../ui/input.tsx";
import type { CreateForm } from "./create-form.ts";

/** A row for each volume and where it is mounted; names that exist are proposed. */
export function VolumeFields({
  value,
  onChange,
  error,
}: {
  value: CreateForm["volumes"];
  onChange: (value: CreateForm["volumes"]) => void;
  error?: string;
}) {
  const known = useQuery({ queryKey: keys.volumes, queryFn: () => sandbar.volumes.list().all() });
  const change = (index: number, part: Partial<CreateForm["volumes"][number]>) =>
    onChange(value.map((mount, at) => (at === index ? { ...mount, ...part } : mount)));
  return (
    <div className="space-y-2">
      <datalist id="known-volumes">
        {known.data?.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {value.map((mount, index) => (
        <div key={`row ${index + 1}`} className="flex items-center gap-2">
          <Input
            aria-label="Volume"
            list="known-volumes"
            placeholder="models"
            value={mount.name}
            onChange={(event) => change(index, { name: event.target.value })}
          />
          <Input
            aria-label="Path"
            mono
            placeholder="/mnt/models"
            value={mount.path}
            onChange={(event) => change(index, { path: event.target.value })}
          />
          <IconButton
            label="Remove"
            icon={<X />}
            onClick={() => onChange(value.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      {error && <p className="text-xs text-danger">{error}</p>}
      <Button
        size="sm"
        icon={<Plus />}
        disabled={value.length >= 8}
        onClick={() => onChange([...value, { name: "", path: "" }])}
      >
        Add a volume
      </Button>
      <p className="text-xs text-faint">Volumes outlive sessions. A new name makes a new one.</p>
    </div>
  );
}
