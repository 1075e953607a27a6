import { type RefObject, useEffect, useRef } from "react";

const NEAR_PX = 160;

/** At the newest when it opens, and as it grows while one is there; returns whether one is. */
export function useBottom(scroller: RefObject<HTMLDivElement | null>): RefObject<boolean> {
  const near = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    const content = element?.firstElementChild;
    if (!element || !content) return;
    let top = element.scrollTop;
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      if (scrollHeight - scrollTop - clientHeight < NEAR_PX) near.current = true;
      // What has grown below moves nothing; only somebody who scrolls up leaves the end.
      else if (scrollTop < top) near.current = false;
      top = scrollTop;
    };
    // Output, images and frames grow when they like.
    const observer = new ResizeObserver(() => {
      if (near.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(content);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [scroller]);
  return near;
}
