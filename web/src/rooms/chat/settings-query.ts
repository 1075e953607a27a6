/** @module The agent's settings of this tenant, and what may be chosen. */
import { queryOptions } from "@tanstack/react-query";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";

export const settingsQuery = queryOptions({
  queryKey: keys.settings,
  queryFn: () => sandbar.settings.get(),
});

export const choicesQuery = queryOptions({
  queryKey: keys.modelChoices,
  queryFn: () => sandbar.settings.models(),
});
