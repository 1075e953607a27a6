import type { Artifact } from "@sandbar/sdk";
import { Link2 } from "lucide-react";
import { useState } from "react";
import { sandbar } from "../../api/client.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton, copyText } from "../../ui/copy-button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Input } from "../../ui/input.tsx";
import { Popover } from "../../ui/popover.tsx";
import { Select } from "../../ui/select.tsx";
import { Time } from "../../ui/time.tsx";

const LIVES = [
  { value: "600", label: "10 minutes" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
] as const;

/** A link that works for whoever has it, for as long as is chosen. */
export function LinkPopover({ artifact }: { artifact: Artifact }) {
  const [life, setLife] = useState<(typeof LIVES)[number]["value"]>("3600");
  const [link, setLink] = useState<{ url: string; expires_at: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [copied, setCopied] = useState(false);

  const make = async () => {
    setBusy(true);
    setError(null);
    try {
      const made = await sandbar.artifacts.link(artifact, { expiresInS: Number(life) });
      setLink(made);
      // Some browsers give no clipboard this long after the click; then the link is there to be copied.
      setCopied(
        await copyText(made.url).then(
          () => true,
          () => false,
        ),
      );
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Popover
      align="start"
      className="w-80 max-w-[calc(100vw-2rem)] space-y-3"
      trigger={<Button icon={<Link2 />}>Copy a link</Button>}
      onOpenChange={() => {
        setLink(null);
        setError(null);
      }}
    >
      <p className="text-xs text-muted">
        Whoever has the link can download it, without a key, until it ends.
      </p>
      <div className="flex gap-2">
        <Select label="Valid for" value={life} onChange={setLife} options={LIVES} className="flex-1" />
        <Button tone="primary" busy={busy} onClick={() => void make()}>
          Copy link
        </Button>
      </div>
      {link && (
        <div role="status" className="space-y-1">
          <div className="flex items-center gap-1">
            <Input
              mono
              readOnly
              aria-label="Link"
              value={link.url}
              onFocus={(event) => event.target.select()}
            />
            <CopyButton text={link.url} label="Copy the link" />
          </div>
          <p className="text-xs text-muted">
            {copied ? "Copied. " : ""}It ends <Time at={link.expires_at} />.
          </p>
        </div>
      )}
      {error != null && <ErrorNote error={error} />}
    </Popover>
  );
}
