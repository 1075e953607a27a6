/** @module What a message says and shows. */
import { isRunOver, messageText, type RunRecord, type ThreadMessage } from "@sandbar/sdk";

export const textOf = ({ content }: Pick<ThreadMessage, "content">): string => messageText(content);

/** Pictures of the thread's own, or such as come along; others are not asked for. */
export function imagesOf({ content }: Pick<ThreadMessage, "content">): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type !== "image_url") return [];
    const { image_url } = part as { image_url: string | { url: string } };
    const url = typeof image_url === "string" ? image_url : image_url.url;
    return isOwnPicture(url) || url.startsWith("data:image/") ? [url] : [];
  });
}

export const isOwnPicture = (url: string) => /^\/langgraph\/threads\/[^/]+\/images\/[0-9a-f]{64}$/.test(url);

export const isUnfinished = (run: Pick<RunRecord, "status">) => !isRunOver(run);
