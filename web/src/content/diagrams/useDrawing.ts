import { useEffect, useState, useSyncExternalStore } from "react";
import { type DiagramKind, factsOf } from "@/content/diagrams/kinds";
import type { Drawing } from "@/content/diagrams/svg";

type Draw = (source: string, isDark: boolean) => Promise<Drawing>;
let loading: Promise<Draw> | undefined;
const load = (): Promise<Draw> => {
  loading ??= import("@/content/diagrams/mermaid").then(
    ({ draw }) => draw,
    (error: unknown) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
};

/** Drawings by theme and source: a message that scrolls back into view shows its own at once. */
const kept = new Map<string, Drawing>();
const MOST_KEPT = 40;

export type Outcome =
  | { state: "drawn"; drawing: Drawing; kind: DiagramKind; title: string }
  | { state: "drawing" }
  | { state: "failed"; why: "broken" | "unknown" | "large" | "loads" };

/** The drawing of a diagram that is complete. */
export function useDrawing(text: string): Outcome {
  const isDark = useSyncExternalStore(onTheme, isDarkNow);
  const facts = factsOf(text);
  const source = typeof facts === "string" ? undefined : facts.source;
  const key = `${isDark ? "dark" : "light"} ${source}`;
  const [done, setDone] = useState<{ key: string; drawing?: Drawing }>();
  useEffect(() => {
    if (source === undefined || kept.has(key)) return;
    let wanted = true;
    load()
      .then((draw) => (wanted ? draw(source, isDark) : undefined))
      .then(
        (drawing) => {
          if (!drawing) return;
          keep(key, drawing);
          if (wanted) setDone({ key, drawing });
        },
        () => wanted && setDone({ key }),
      );
    return () => {
      wanted = false;
    };
  }, [source, isDark, key]);
  if (typeof facts === "string") return { state: "failed", why: facts };
  // While the other theme is drawn, the old drawing stays.
  const drawing = kept.get(key) ?? done?.drawing;
  if (drawing) return { state: "drawn", drawing, kind: facts.kind, title: facts.title };
  return done?.key === key ? { state: "failed", why: "broken" } : { state: "drawing" };
}

function keep(key: string, drawing: Drawing): void {
  kept.set(key, drawing);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

const isDarkNow = () => document.documentElement.classList.contains("dark");

function onTheme(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ["class"] });
  return () => observer.disconnect();
}
