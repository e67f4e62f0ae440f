import { useSyncExternalStore } from "react";

import { EMBED, frame } from "@/frame";

/**
 * The route: `/` (and `/chat`) is a new chat, `/chat/{id}` an old one, `?message=` a message in it; `/runs`
 * lists runs, `/runs/{id}` is one of them, `/runs/{id}/{id}` compares two; `/shared` is a chat that a link
 * opens, `/view` a recording. Relative to the page's `<base>`, and in a frame to `embed/` below it, as only
 * that can be framed.
 */
export type Route =
  | { page: "new" | "runs" | "shared" | "view" | "unknown" }
  | { page: "chat"; id: string; message?: string }
  | { page: "run"; id: string }
  | { page: "compare"; first: string; second: string };

const NAMED: Readonly<Record<string, Route>> = {
  "": { page: "new" },
  "index.html": { page: "new" },
  chat: { page: "new" },
  runs: { page: "runs" },
  shared: { page: "shared" },
  view: { page: "view" },
};

const listeners = new Set<() => void>();
const basePath = () => new URL(document.baseURI).pathname;
const PREFIX = frame.isEmbedded ? `${EMBED}/` : "";

/** Reads a path; `base` ends with a slash. */
export function routeOf(path: string, base: string, search = ""): Route {
  const below = path.startsWith(base) ? path.slice(base.length) : path.replace(/^\//, "");
  const rest = below === EMBED ? "" : below.replace(/^embed\//, "");
  const named = NAMED[rest.replace(/\/$/, "")];
  if (named) return named;
  const [, folder, names] = /^(chat|runs)\/(.+)$/.exec(rest) ?? [];
  if (!names) return { page: "unknown" };
  try {
    const message = new URLSearchParams(search).get("message");
    if (folder === "chat")
      return { page: "chat", id: decodeURIComponent(names), ...(message && { message }) };
    return runRoute(names.split("/").map(decodeURIComponent));
  } catch {
    return { page: "unknown" };
  }
}

function runRoute([first, second, ...more]: string[]): Route {
  if (!first || more.length > 0) return { page: "unknown" };
  return second ? { page: "compare", first, second } : { page: "run", id: first };
}

const word = encodeURIComponent;

function pathOf(route: Route): string {
  if (route.page === "chat") return `chat/${word(route.id)}`;
  if (route.page === "runs" || route.page === "view") return route.page;
  if (route.page === "run") return `runs/${word(route.id)}`;
  if (route.page === "compare") return `runs/${word(route.first)}/${word(route.second)}`;
  return "";
}

export function hrefOf(route: Route): string {
  const url = new URL(`${PREFIX}${pathOf(route)}`.replace(/\/$/, ""), document.baseURI);
  for (const [name, value] of frame.options) url.searchParams.set(name, value);
  if (route.page === "chat" && route.message) url.searchParams.set("message", route.message);
  return url.pathname + url.search;
}

export function navigate(route: Route): void {
  const href = hrefOf(route);
  if (href === location.pathname + location.search) return;
  history.pushState(null, "", href);
  for (const listener of listeners) listener();
}

let current: { href: string; route: Route } | undefined;

function read(): Route {
  const { pathname, search } = location;
  const href = pathname + search;
  if (current?.href !== href) current = { href, route: routeOf(pathname, basePath(), search) };
  return current.route;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("popstate", listener);
  };
}

export const useRoute = (): Route => useSyncExternalStore(subscribe, read);
