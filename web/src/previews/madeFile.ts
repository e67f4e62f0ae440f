import { address, type MadeFile } from "@/api";
import type { PreviewedFile } from "@/state/preview";

/** A file that an agent made, as the panel shows it. */
export function madeFile(chatId: string, file: MadeFile): PreviewedFile {
  const { path, size, modifiedAt, mediaType } = file;
  const url = address(`api/chats/${encodeURIComponent(chatId)}/file`, { path });
  return { name: path, mediaType, size, modifiedAt, url };
}
