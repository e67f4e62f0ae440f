import { locale } from "@/language";

const DATE = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });

/** Files in the side panel: the list, and a preview. */
export const previews = {
  count: (files: number) => (files === 1 ? "1 file" : `${files} files`),
  more: (shown: number) => `Showing the ${shown} newest files.`,
  about: (size: string, time: string) => `${size} · ${time}`,
  time: (ms: number) => DATE.format(ms),
  refresh: "Refresh the list",
  noFiles: "No files yet",
  noFilesLine: "Files that the agent saves in this chat appear here.",
  elsewhere: "Files are not available here",
  elsewhereLine: "The agent ran on another machine, which keeps its files.",
  notListed: "Couldn't load the files",
  notListedLine: "The server did not answer.",

  preview: (name: string) => `Preview ${name}`,
  previewOf: (name: string) => `Preview of ${name}`,
  back: "All files",
  reload: "Reload the file",
  download: "Download",
  downloadOf: (name: string) => `Download ${name}`,
  notDownloaded: "Couldn't download it. Try again.",
  showSource: "Show source",
  showRendered: "Show preview",
  loading: "Loading…",
  pageOf: (name: string) => `Content of ${name}`,
  htmlNote: "Shown without scripts and network access.",
  table: "Table",
  cut: (rows: number) => `Showing the first ${rows} rows.`,
  noPreview: "No preview for this kind of file.",
  unread: {
    failed: "Couldn't load the file.",
    large: "This file is too large for a preview.",
  },
  type: "Type",
  unknownType: "unknown",
  size: "Size",
  changed: "Changed",
};
