import { clsx } from "clsx";
import { useEffect, useRef, useState } from "react";
import { useDark } from "../shell/theme.ts";

/**
 * HTML or SVG that somebody's code has made, in a page with an origin that is nobody's and without a network: it reaches
 * neither cookie nor API nor this page. See `/console/frame` of the Worker.
 */
export function SandboxedFrame({
  html,
  title,
  maxHeight,
  className,
}: {
  html: string;
  title: string;
  /** It is as high as what it shows, up to this; without it the class says how high. */
  maxHeight?: number;
  className?: string;
}) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(0);
  const dark = useDark();

  useEffect(() => {
    const hear = ({ source, data }: MessageEvent) => {
      const told = (data as { height?: unknown } | null)?.height;
      if (source === frame.current?.contentWindow && typeof told === "number" && Number.isFinite(told))
        setHeight(told);
    };
    window.addEventListener("message", hear);
    return () => window.removeEventListener("message", hear);
  }, []);

  return (
    <iframe
      // A frame takes HTML once; other HTML needs another frame.
      key={`${dark} ${html}`}
      ref={frame}
      title={title}
      src="/console/frame"
      sandbox="allow-scripts allow-popups"
      onLoad={({ currentTarget }) => {
        // Its origin is opaque, so no target but any can be named. Where it leads itself later, nothing is sent.
        if (currentTarget.dataset.sent) return;
        currentTarget.dataset.sent = "yes";
        currentTarget.contentWindow?.postMessage({ html, theme: dark ? "dark" : "light" }, "*");
      }}
      className={clsx("block w-full border-0", className)}
      style={
        maxHeight === undefined
          ? undefined
          : { height: Math.min(Math.max(height, 24), maxHeight), overflow: "auto" }
      }
    />
  );
}
