import { credentials, fetchWithKey } from "@/key";
import type { PreviewedFile } from "@/state/preview";

/** Downloads a file; throws if it cannot be read. With a key it is fetched first: an address in a link cannot send one. */
export async function saveFile({ url, name }: Pick<PreviewedFile, "url" | "name">): Promise<void> {
  const isRoute = !/^(?:data|blob):/i.test(url);
  if (!isRoute || credentials.key === undefined) return follow(url, name);
  const response = await fetchWithKey(url);
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  // As bytes, so that no browser opens it.
  const bytes = new Blob([await response.blob()], { type: "application/octet-stream" });
  const made = URL.createObjectURL(bytes);
  follow(made, name);
  setTimeout(() => URL.revokeObjectURL(made), 60_000);
}

function follow(url: string, name: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name.slice(name.lastIndexOf("/") + 1);
  link.click();
}
