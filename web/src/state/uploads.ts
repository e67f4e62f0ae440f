import { address, Refused } from "@/api";
import { failureOf } from "@/failure";
import { newId } from "@/ids";
import { credentials } from "@/key";
import { locale } from "@/language";
import type { Attachment, FilePart } from "@/state/attachments";
import { drafts } from "@/state/drafts";
import { limits } from "@/state/server";
import { Store, useStore } from "@/store";
import { strings } from "@/strings";

const words = strings.composer.problems;

/** What is known of a file since the page was loaded. */
export interface Upload {
  file: File;
  /** From 0 to 1. */
  progress: number;
  /** Why it was not stored. */
  problem?: string;
  /** Whether another attempt may succeed. */
  canRetry?: boolean;
  /** A remark about a file that was stored. */
  note?: string;
  /** The address of a picture's bytes in the page. */
  preview?: string;
}

const state = new Store<{ by: Record<string, Upload> }>({ by: {} });
const running = new Map<string, XMLHttpRequest>();

export const useUploads = () => useStore(state).by;

const of = (id: string): Upload | undefined => state.get().by[id];

function change(id: string, changed: Partial<Upload>): void {
  const before = of(id);
  if (before) state.set({ by: { ...state.get().by, [id]: { ...before, ...changed } } });
}

export const uploads = {
  /** Attaches files to a chat's draft and uploads them. */
  add(chat: string, files: File[]): void {
    const added = files.map((file) => ({ file, about: aboutOf(file) }));
    const fresh = added.map(({ file, about }) => [about.id, { file, progress: 0, ...shown(file) }]);
    state.set({ by: { ...state.get().by, ...Object.fromEntries(fresh) } });
    drafts.attach(
      chat,
      added.map(({ about }) => about),
    );
    for (const { about } of added) void start(about.id);
  },
  /** Folders, which browsers give as files that cannot be read. */
  refuse(chat: string, names: string[]): void {
    for (const name of names) {
      const about = { id: newId(), name, mediaType: "", size: 0 };
      const upload = { file: new File([], name), progress: 0, problem: words.folder };
      state.set({ by: { ...state.get().by, [about.id]: upload } });
      drafts.attach(chat, [about]);
    }
  },
  retry(id: string): void {
    change(id, { problem: undefined, progress: 0 });
    void start(id);
  },
  remove(chat: string, id: string): void {
    running.get(id)?.abort();
    drafts.detach(chat, id);
    const { [id]: removed, ...rest } = state.get().by;
    if (removed?.preview) URL.revokeObjectURL(removed.preview);
    state.set({ by: rest });
  },
};

const aboutOf = ({ name, type, size }: File): Attachment => ({
  id: newId(),
  name,
  mediaType: type || "application/octet-stream",
  size,
});

/** Pictures are shown from their bytes, before the server has them. Not SVG, which the server does not show. */
const shown = (file: File) =>
  /^image\/(?!svg)/.test(file.type) ? { preview: URL.createObjectURL(file) } : {};

async function start(id: string): Promise<void> {
  const { file } = of(id) ?? {};
  if (!file) return;
  try {
    const most = (await limits())?.maxFile;
    if (!of(id)) return; // removed meanwhile
    if (most !== undefined && file.size > most) throw new Refused(413, "file_too_large", "");
    const part = await send(id, file);
    running.delete(id);
    drafts.stored(id, part);
    change(id, { progress: 1, note: noteOn(file, part) });
  } catch (error) {
    running.delete(id);
    if (of(id)) change(id, { ...(await problemOf(error)) });
  }
}

/** The server checks the type by the first bytes. */
function noteOn({ type }: File, { mediaType }: FilePart): string | undefined {
  const isOther = type !== "" && mediaType === "application/octet-stream" && type !== mediaType;
  return isOther ? strings.composer.otherType(type) : undefined;
}

async function problemOf(error: unknown): Promise<Pick<Upload, "problem" | "canRetry">> {
  const failure = failureOf(error);
  if (failure.kind !== "refused" || failure.code === "unauthenticated")
    return { problem: navigator.onLine ? words.lost : words.offline, canRetry: true };
  const most = await limits();
  const known: Record<string, string> = {
    file_too_large: most ? words.tooLarge(bytes(most.maxFile)) : words.tooLargeUnknown,
    file_quota_exceeded: most ? words.full(bytes(most.maxFilesPerOwner)) : words.fullUnknown,
  };
  const isFull = failure.code === "file_quota_exceeded";
  return { problem: known[failure.code] ?? words.refused(failure.message), canRetry: isFull };
}

/** Limits are powers of two: they are named as such, or a file of the limit's size would look too large. */
function bytes(size: number): string {
  const units: [number, string][] = [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ];
  const [unit, name] = units.find(([unit]) => size >= unit) ?? [1, "bytes"];
  return `${Number((size / unit).toFixed(1)).toLocaleString(locale)} ${name}`;
}

/** Uploads a file. `fetch` does not report the progress of a request's body. */
function send(id: string, file: File): Promise<FilePart> {
  const request = new XMLHttpRequest();
  running.set(id, request);
  return new Promise((resolve, reject) => {
    request.open("POST", address("api/files", { name: file.name }));
    request.setRequestHeader("content-type", file.type || "application/octet-stream");
    if (credentials.key !== undefined)
      request.setRequestHeader("authorization", `Bearer ${credentials.key}`);
    request.upload.onprogress = ({ loaded, total }) =>
      change(id, { progress: total ? loaded / total : 0 });
    request.onload = () => {
      const { status, responseText } = request;
      if (status === 401) credentials.lock();
      if (status >= 200 && status < 300) resolve(partIn(responseText));
      else reject(Refused.from(status, responseText));
    };
    request.onerror = () => reject(new TypeError("network error"));
    request.onabort = () => reject(new TypeError("network: left"));
    request.send(file);
  });
}

function partIn(text: string): FilePart {
  const { url, mediaType, filename } = JSON.parse(text);
  return { type: "file", url, mediaType, ...(filename && { filename }) };
}
