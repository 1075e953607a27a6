/** @module Files on their way into a thread's sandbox. */
import { type ThreadMessage as Message, newId, type Session } from "@sandbar/sdk";
import { sandbar } from "../../api/client.ts";
import type { UploadItem } from "../files/upload-items.ts";
import { withAttached } from "./attached.ts";
import { freeName } from "./free-name.ts";

export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly file: File;
}

/** Pictures that models take; others are files like any. */
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
/** A request has 8 MiB, and base64 makes four bytes of three. */
const MOST_PICTURE_BYTES = 5 * 1024 * 1024;

export const attachmentsOf = (items: readonly UploadItem[]): Attachment[] =>
  items.flatMap(({ path, file }) => (file ? [{ id: newId(), name: path, file }] : []));

/** Brings them all in, under names that nothing has; gives their paths. */
export async function uploadAll(
  thread: string,
  attachments: readonly Attachment[],
  { signal, onProgress }: { signal: AbortSignal; onProgress: (id: string, sent: number) => void },
): Promise<string[]> {
  if (attachments.length === 0) return [];
  const session = await sandbar.session({ key: thread }, { signal });
  const taken = await namesIn(session);
  const paths: string[] = [];
  for (const { id, name, file } of attachments) {
    const free = freeName(name, taken);
    taken.add(free);
    const path = `/session/${free}`;
    await session.files.write(path, file, { signal, onProgress: (sent) => onProgress(id, sent) });
    onProgress(id, file.size);
    paths.push(path);
  }
  return paths;
}

async function namesIn(session: Session): Promise<Set<string>> {
  const entries = await session.files.list("/session", { depth: 3 });
  return new Set(entries.map(({ path }) => path.replace(/^\/session\//, "")));
}

/** The message that names them; pictures come along, for models that see. */
export async function questionWith(
  text: string,
  attachments: readonly Attachment[],
  paths: readonly string[],
): Promise<Message> {
  const whole = withAttached(text, paths);
  let left = MOST_PICTURE_BYTES;
  const pictures: { type: "image_url"; image_url: { url: string } }[] = [];
  for (const { file } of attachments) {
    if (!PICTURES.test(file.type) || file.size > left) continue;
    left -= file.size;
    pictures.push({ type: "image_url", image_url: { url: await dataUrl(file) } });
  }
  const content = pictures.length > 0 ? [{ type: "text", text: whole }, ...pictures] : whole;
  return { id: newId(), type: "human", content };
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
