/**
 * Views that an app adds for its own tools, by name. An app's view draws into an element of its own, so
 * that it needs neither this page's React nor its build; web/README.md says how it gets here.
 */
import { useEffect, useRef } from "react";
import type { ToolBlock } from "@/parts/blocks";
import { Store, useStore } from "@/store";

/** A call as an app's view gets it: copies, so that a view cannot change the page's data. */
export interface Call {
  name: string;
  state: string;
  input: unknown;
  output?: unknown;
  error?: string;
}

/** Draws a call into an empty element, again whenever it changes. Returns how to clean up, if needed. */
export type DrawCall = (element: HTMLElement, call: Call) => unknown;

const views = new Store<Record<string, DrawCall>>({});

export function addToolView(tool: string, draw: DrawCall): void {
  views.set({ [tool]: draw });
}

export function useAppView(tool: string): DrawCall | undefined {
  const all = useStore(views);
  return Object.hasOwn(all, tool) ? all[tool] : undefined;
}

export function AppView({ view, block }: { view: DrawCall; block: ToolBlock }) {
  const box = useRef<HTMLDivElement>(null);
  const { name, state, input, output, error } = block;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    element.replaceChildren();
    const call = structuredClone({ name, state, input, output, error });
    const done = drawn(view, element, call);
    return () => {
      if (typeof done === "function") done();
    };
  }, [view, name, state, input, output, error]);
  return <div ref={box} className="overflow-x-auto text-block" />;
}

/** A view that fails leaves the raw call, which is below it. */
function drawn(view: DrawCall, element: HTMLElement, call: Call): unknown {
  try {
    return view(element, call);
  } catch (error) {
    console.error("a tool's view failed", error);
    return undefined;
  }
}
