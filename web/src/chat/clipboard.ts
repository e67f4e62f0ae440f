import { useEffect, useState } from "react";

/** Copies; where the page is not secure and has no clipboard, by a hidden field. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByField(text);
  }
}

function copyByField(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const done = document.execCommand?.("copy") ?? false;
  field.remove();
  return done;
}

/** A copy that says for a moment that it was done. */
export function useCopy(): readonly [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  return [copied, (text) => void copy(text).then(setCopied)];
}

/** Hands a file to the person. */
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

/** A title as the name of a file. */
export function fileName(title: string, ending: string): string {
  const words = title
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
  return `${words.slice(0, 60) || "chat"}.${ending}`;
}
