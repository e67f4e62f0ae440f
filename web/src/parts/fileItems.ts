import { type Fields, numberOf, textOf } from "@/json";
import type { FileItem } from "@/parts/blocks";
import { dataOf, moboxOf, type Part } from "@/parts/wire";

/** A file of a message, sent by the client or the server, or stored at a provider. */
export function readFile(part: Part): FileItem {
  const fields: Fields =
    part.type === "data-file" ? dataOf(part) : { ...moboxOf(part), ...(part as object) };
  const url = part.type === "data-file" ? undefined : textOf(fields.url);
  const mediaType = textOf(fields.mediaType) ?? "";
  const size = numberOf(fields.size) ?? sizeOf(url);
  return {
    name:
      textOf(fields.filename) ||
      textOf(fields.name) ||
      nameIn(url) ||
      textOf(fields.fileId) ||
      mediaType,
    mediaType,
    ...(url && { url }),
    ...(size !== undefined && { size }),
  };
}

const BASE64 = /^data:[^,]*;base64,/i;

function sizeOf(url: string | undefined): number | undefined {
  const head = url === undefined ? null : BASE64.exec(url);
  if (url === undefined || head === null) return undefined;
  const padding = url.endsWith("==") ? 2 : url.endsWith("=") ? 1 : 0;
  return Math.floor(((url.length - head[0].length) * 3) / 4) - padding;
}

function nameIn(url: string | undefined): string | undefined {
  if (url === undefined || !/^https?:/i.test(url)) return undefined;
  const path = url.replace(/[?#].*$/, "");
  return path.slice(path.lastIndexOf("/") + 1) || undefined;
}
