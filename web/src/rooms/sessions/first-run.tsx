import { ChartLine, Plug, SquareTerminal } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "../../ui/button.tsx";
import { Snippets } from "./snippets.tsx";
import { useQuickStart } from "./use-quick-start.ts";

/** Nothing has run here yet: three things to try. */
export function FirstRun({ onCreate }: { onCreate: () => void }) {
  const plot = useQuickStart();
  return (
    <div className="mx-auto w-full max-w-3xl py-6 sm:py-10">
      <h2 className="text-xl font-semibold tracking-tight">Run something</h2>
      <p className="mt-1 max-w-xl text-base text-muted">
        A session is a locked-up container with live kernels for Python, Node, R and bash. Variables and files
        stay between runs, and everything that people or agents run in it shows up here.
      </p>
      <ol className="mt-6 divide-y rounded-lg border bg-surface">
        <Step
          icon={<ChartLine />}
          title="Open a notebook with a plot in it"
          action={
            <Button tone="primary" busy={plot.busy} onClick={plot.start}>
              Start Python
            </Button>
          }
        >
          Makes a Python session and puts a first cell into it. Shift-Enter runs it.
        </Step>
        <Step
          icon={<SquareTerminal />}
          title="Make a session to your measure"
          action={<Button onClick={onCreate}>New session</Button>}
        >
          Choose language, packages, memory, network, volumes and how long it lives.
        </Step>
        <Step icon={<Plug />} title="Let your code or your agent use it">
          Copy one of these. What it runs appears here while it runs.
        </Step>
      </ol>
      <div className="mt-4">
        <Snippets />
      </div>
    </div>
  );
}

function Step({
  icon,
  title,
  action,
  children,
}: {
  icon: ReactNode;
  title: string;
  action?: ReactNode;
  children: ReactNode;
}) {
  return (
    <li className="grid grid-cols-[1.25rem_1fr] items-center gap-x-4 gap-y-2 px-4 py-3 sm:grid-cols-[1.25rem_1fr_auto]">
      <span className="text-accent [&_svg]:size-5 [&_svg]:stroke-[1.75]">{icon}</span>
      <div>
        <h3 className="font-medium">{title}</h3>
        <p className="text-muted">{children}</p>
      </div>
      {action && <div className="max-sm:col-start-2">{action}</div>}
    </li>
  );
}
