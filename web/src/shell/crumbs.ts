/** @module Where one is: the way to here, shown in the top bar and as the page's title. */
import { useEffect } from "react";
import { createStore, useStore } from "../api/store.ts";

export interface Crumb {
  label: string;
  to?: string;
}

const store = createStore<readonly Crumb[]>([]);

export function useCrumbs(crumbs: readonly Crumb[]): void {
  const shape = JSON.stringify(crumbs);
  useEffect(() => {
    const own: Crumb[] = JSON.parse(shape);
    store.set(own);
    document.title = [...own.map(({ label }) => label).reverse(), "Sandbar"].join(" · ");
    return () => {
      if (store.get() === own) store.set([]);
    };
  }, [shape]);
}

export const useCurrentCrumbs = () => useStore(store);
