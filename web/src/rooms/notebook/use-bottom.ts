import { type RefObject, useEffect, useRef } from "react";

/** At the newest when it opens, and as it grows while one is there. */
export function useBottom(scroller: RefObject<HTMLDivElement | null>, loaded: boolean, cells: unknown): void {
  const near = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const onScroll = () => {
      near.current = element.scrollHeight - element.scrollTop - element.clientHeight < 160;
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [scroller]);
  useEffect(() => {
    const element = scroller.current;
    if (loaded && element && near.current) element.scrollTop = element.scrollHeight;
  }, [loaded, cells, scroller]);
}
