import { useEffect, useRef, useState } from "react";
import { useDark } from "../shell/theme.ts";

/**
 * HTML that code made, in a page of an origin that is nobody's: it reaches neither the console nor its cookie nor a
 * network. With `fill` it is as tall as its place, else as its content.
 */
export function UntrustedFrame({
  html,
  title,
  fill = false,
  tallest = 600,
  className,
}: {
  html: string;
  title: string;
  fill?: boolean;
  tallest?: number;
  className?: string;
}) {
  const frame = useRef<HTMLIFrameElement>(null);
  const dark = useDark();
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const listen = (event: MessageEvent) => {
      if (event.source !== frame.current?.contentWindow) return;
      const told = Number(event.data?.height);
      if (Number.isFinite(told)) setHeight(Math.min(Math.max(0, told), tallest));
    };
    window.addEventListener("message", listen);
    return () => window.removeEventListener("message", listen);
  }, [tallest]);
  return (
    <iframe
      // It takes one message, so other content is another frame.
      key={`${dark}${html.length}${html.slice(0, 2000)}`}
      ref={frame}
      src="/console/frame"
      title={title}
      sandbox="allow-scripts allow-popups"
      referrerPolicy="no-referrer"
      onLoad={() => {
        // Its origin is opaque, so no other target can be named; what it gets is its own content.
        frame.current?.contentWindow?.postMessage({ html, theme: dark ? "dark" : "light" }, "*");
      }}
      className={className}
      style={fill ? { width: "100%", height: "100%" } : { width: "100%", height: height || 24 }}
    />
  );
}
