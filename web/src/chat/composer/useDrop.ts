import { type ClipboardEvent, type DragEvent, useState } from "react";
import { uploads } from "@/state/uploads";

const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes("Files");

/** Handlers of an element onto which files are dropped, and whether some are above it. */
export function useDrop(draft: string, isOn: boolean) {
  const [isOver, setOver] = useState(false);
  const over = (event: DragEvent) => {
    if (!isOn || event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    setOver(true);
  };
  const leave = ({ currentTarget, relatedTarget }: DragEvent) => {
    if (!(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))) setOver(false);
  };
  const drop = (event: DragEvent) => {
    setOver(false);
    if (!isOn || event.defaultPrevented || !hasFiles(event)) return;
    event.preventDefault();
    const { files, folders } = sorted(event.dataTransfer);
    if (files.length) uploads.add(draft, files);
    if (folders.length) uploads.refuse(draft, folders);
  };
  const handlers = { onDragEnter: over, onDragOver: over, onDragLeave: leave, onDrop: drop };
  return { isOver: isOn && isOver, handlers };
}

/** A folder looks like a file that cannot be read. */
function sorted({ items }: DataTransfer): { files: File[]; folders: string[] } {
  const files: File[] = [];
  const folders: string[] = [];
  for (const item of Array.from(items)) {
    const file = item.kind === "file" ? item.getAsFile() : null;
    if (!file) continue;
    if (item.webkitGetAsEntry?.()?.isDirectory) folders.push(file.name);
    else files.push(file);
  }
  return { files, folders };
}

/** Attaches pasted files. Spreadsheets also copy a picture of their text: the text is pasted then. */
export function pasteFiles(draft: string, event: ClipboardEvent): void {
  const { clipboardData } = event;
  const files = Array.from(clipboardData.files);
  if (files.length === 0 || clipboardData.getData("text/plain")) return;
  event.preventDefault();
  uploads.add(draft, files);
}
