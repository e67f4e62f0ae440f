import { useSyncExternalStore } from "react";

/** The route: `/` (and `/chat`) is a new chat, `/chat/{id}` an old one. Relative to the page's `<base>`. */
export type Route = { page: "new" } | { page: "chat"; id: string } | { page: "unknown" };

const listeners = new Set<() => void>();
const basePath = () => new URL(document.baseURI).pathname;

/** Reads a path; `base` ends with a slash. */
export function routeOf(path: string, base: string): Route {
  const rest = path.startsWith(base) ? path.slice(base.length) : path.replace(/^\//, "");
  if (["", "index.html", "chat", "chat/"].includes(rest)) return { page: "new" };
  const [, id] = /^chat\/(.+)$/.exec(rest) ?? [];
  if (!id) return { page: "unknown" };
  try {
    return { page: "chat", id: decodeURIComponent(id) };
  } catch {
    return { page: "unknown" };
  }
}

export function hrefOf(route: Route): string {
  const path = route.page === "chat" ? `chat/${encodeURIComponent(route.id)}` : "";
  return new URL(path, document.baseURI).pathname;
}

export function navigate(route: Route): void {
  const href = hrefOf(route);
  if (href === location.pathname) return;
  history.pushState(null, "", href);
  for (const listener of listeners) listener();
}

let current: { path: string; route: Route } | undefined;

function read(): Route {
  const path = location.pathname;
  if (current?.path !== path) current = { path, route: routeOf(path, basePath()) };
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
