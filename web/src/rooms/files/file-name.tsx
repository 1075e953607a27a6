import { clsx } from "clsx";
import { Fragment } from "react";
import { nameParts, plainName } from "./shown-name.ts";

/** A name that may be anything: on one line, left to right, its unseen characters spelled out. */
export function FileName({ name, className }: { name: string; className?: string }) {
  const parts = nameParts(name);
  return (
    <bdi dir="auto" className={clsx("truncate", className)} title={plainName(name, 400)}>
      {parts.map(({ text, escaped }, index) =>
        escaped ? (
          <span key={index} className="rounded-xs bg-warn-soft px-0.5 font-mono text-[0.85em] text-warn">
            {text}
          </span>
        ) : (
          <Fragment key={index}>{text}</Fragment>
        ),
      )}
    </bdi>
  );
}
