import type { Session, SessionRecord } from "@sandbar/sdk";
import { Check, LoaderCircle, TriangleAlert } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { preciseDuration } from "../../ui/time.tsx";
import { useNow } from "../../ui/use-now.ts";
import { advance, type Step } from "./creation-steps.ts";

const TITLES: Record<string, string> = {
  pull: "Pull the image",
  probe: "Look into the image",
  dependencies: "Install packages",
  container: "Make the container",
  start: "Start it",
  kernel: "Start the kernel",
};

/** What the session's events say while it is made. */
export function CreationProgress({
  session,
  onReady,
  onAgain,
}: {
  session: Session;
  onReady: () => void;
  onAgain: () => void;
}) {
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const [failure, setFailure] = useState<unknown>(null);
  const [begun] = useState(Date.now);
  const ready = useRef(onReady);
  ready.current = onReady;

  useEffect(() => {
    const controller = new AbortController();
    const follow = async () => {
      const look = async (): Promise<boolean> => {
        const info: SessionRecord = await session.refresh();
        if (info.status === "creating") return false;
        if (info.status === "ready" || info.status === "busy") ready.current();
        else
          setFailure(
            info.error ?? { code: info.status.toUpperCase(), detail: `The session is ${info.status}.` },
          );
        return true;
      };
      if (await look()) return;
      while (!controller.signal.aborted) {
        for await (const { type, data } of session.events({ signal: controller.signal })) {
          if (type === "progress")
            setSteps((before) => advance(before, data as { step: string; detail?: string }));
          else if (type === "status" && (await look())) return;
        }
        if (await look()) return;
      }
    };
    follow().catch((error: unknown) => {
      if (!controller.signal.aborted) setFailure(error);
    });
    return () => controller.abort();
  }, [session]);

  const now = useNow();
  return (
    <div className="min-h-40 space-y-4 pt-1">
      <ol className="space-y-2" aria-live="polite">
        {steps.length === 0 && failure == null && (
          <StepLine icon={<LoaderCircle className="animate-spin text-accent" />} title="Looking for a host" />
        )}
        {steps.map(({ step, detail }, index) => {
          const current = index === steps.length - 1;
          const icon = !current ? (
            <Check className="text-ok" />
          ) : failure == null ? (
            <LoaderCircle className="animate-spin text-accent" />
          ) : (
            <TriangleAlert className="text-danger" />
          );
          return (
            <StepLine
              key={step}
              icon={icon}
              title={TITLES[step] ?? step}
              detail={current ? detail : undefined}
            />
          );
        })}
      </ol>
      {failure == null ? (
        <p className="text-xs text-faint tabular-nums">{preciseDuration(Math.max(0, now - begun))}</p>
      ) : (
        <ErrorNote
          error={failure}
          action={
            <Button size="sm" onClick={onAgain}>
              Change the form
            </Button>
          }
        />
      )}
    </div>
  );
}

function StepLine({ icon, title, detail }: { icon: React.ReactNode; title: string; detail?: string }) {
  return (
    <li className="flex gap-2.5 [&_svg]:mt-0.5 [&_svg]:size-4 [&_svg]:shrink-0">
      {icon}
      <span className="min-w-0">
        {title}
        {detail && <code className="block truncate text-xs text-muted">{detail}</code>}
      </span>
    </li>
  );
}
