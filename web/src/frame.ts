/**
 * The page inside a page of another site, which public/embed.js has put there. Only pages of the origins in
 * the setting `embed_origins` can frame it, so that whatever frames it may talk to it.
 */
import { credentials } from "@/key";

interface Frame {
  isEmbedded: boolean;
  /** The agent that the site chose. */
  agent?: string;
  /** The frame is opened by a button, and can be closed. */
  canClose: boolean;
  /** The site's options: part of every address in the frame, as a browser may deny it storage. */
  options: [name: string, value: string][];
}

const NOT_EMBEDDED: Frame = { isEmbedded: false, canClose: false, options: [] };
const OPTIONS = ["agent", "close", "lang"];

/** The path of the framed page, below the page's base. */
export const EMBED = "embed";

export function frameOf(path: string, base: string, search: string): Frame {
  const isEmbedded = path === `${base}${EMBED}` || path.startsWith(`${base}${EMBED}/`);
  if (!isEmbedded) return NOT_EMBEDDED;
  const given = new URLSearchParams(search);
  return {
    isEmbedded,
    agent: given.get("agent") || undefined,
    canClose: given.get("close") === "1",
    options: [...given].filter(([name]) => OPTIONS.includes(name)),
  };
}

const read = () => frameOf(location.pathname, new URL(document.baseURI).pathname, location.search);

export const frame: Frame = typeof document === "undefined" ? NOT_EMBEDDED : read();

/** Asks the site to close the frame. */
export const closeFrame = (): void => tell("mobox:close");

/** Tells the page around that this one listens, and takes the token that it then may send. */
export function listenToSite(): void {
  if (!frame.isEmbedded || window.parent === window) return;
  window.addEventListener("message", ({ source, data }: MessageEvent) => {
    if (source !== window.parent || data?.type !== "mobox:token") return;
    if (typeof data.token === "string" && data.token) credentials.unlock(data.token);
  });
  tell("mobox:ready");
}

/** The origin of the page around is not known here; what is sent says nothing about the person. */
function tell(type: string): void {
  window.parent.postMessage({ type }, "*");
}
