import { useEffect, useRef, useState } from "react";
import { useDark } from "../../shell/theme.ts";

const HIGHEST = 640;

/** Gives pandas' tables and plain HTML the console's look; what brings styles of its own keeps them. */
const LOOK = `<style>
html { font: 13px/1.5 "Inter", system-ui, sans-serif; color: #1b1c1d; }
html[data-theme="dark"] { color: #e9eaea; }
body > svg, body > img { display: block; }
table.dataframe { border: 0; font-variant-numeric: tabular-nums; }
table.dataframe th, table.dataframe td { border: 0; padding: 3px 16px 3px 0; border-bottom: 1px solid color-mix(in srgb, currentColor 14%, transparent); }
table.dataframe th { font-weight: 500; opacity: .75; }
table.dataframe tr:hover { background: color-mix(in srgb, currentColor 6%, transparent); }
</style>`;

/** HTML and SVG that code has made, in a frame whose origin is nobody's: it reaches neither the page nor the API. */
export function SandboxedFrame({ html, title }: { html: string; title: string }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const dark = useDark();
  const [height, setHeight] = useState(40);
  useEffect(() => {
    const onMessage = ({ source, data }: MessageEvent) => {
      if (source !== frame.current?.contentWindow || source === null) return;
      const told: unknown = (data as { height?: unknown } | null)?.height;
      if (typeof told === "number" && Number.isFinite(told))
        setHeight(Math.min(HIGHEST, Math.max(20, Math.ceil(told))));
    };
    window.addEventListener("message", onMessage);
    return () => window.removeEventListener("message", onMessage);
  }, []);
  return (
    <iframe
      // Another theme needs another page: it takes one message.
      key={String(dark)}
      ref={frame}
      src="/console/frame"
      title={title}
      sandbox="allow-scripts allow-popups"
      referrerPolicy="no-referrer"
      className="block w-full border-0 bg-transparent"
      style={{ height, colorScheme: dark ? "dark" : "light" }}
      onLoad={({ currentTarget }) =>
        // Its origin is opaque, so no other target can be named.
        currentTarget.contentWindow?.postMessage({ html: LOOK + html, theme: dark ? "dark" : "light" }, "*")
      }
    />
  );
}
