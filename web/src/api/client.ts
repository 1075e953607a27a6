/** @module The one client of the console, signed in by its cookie, and the one cache in front of it. */
import { Sandbar, SandbarError } from "@sandbar/sdk";
import { QueryClient } from "@tanstack/react-query";
import { watchedFetch } from "./connection.ts";

export const sandbar = new Sandbar({ url: location.origin, credentials: "cookie", fetch: watchedFetch });

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The client itself tries again what can be tried again.
      retry: (count, error) => count < 3 && error instanceof SandbarError && error.retryable,
      retryDelay: (count) => Math.min(8000, 500 * 2 ** count),
      // What changes is told by events; this is for what they do not tell.
      staleTime: 15_000,
      refetchOnWindowFocus: true,
    },
  },
});
