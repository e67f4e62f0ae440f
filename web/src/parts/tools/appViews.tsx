/**
 * Views that an app adds for its tools, by name or by kind. A view draws into an element of its own, so that
 * it needs neither this page's React nor its build. `pageModules.ts` loads them; docs/page-modules.md is for
 * their authors.
 *
 * Rule 1: a view gets copies, so that it cannot change the page's data.
 * Rule 2: a view that throws is replaced by the page's own, for this call.
 */
import { useEffect, useRef } from "react";
import type { ToolBlock } from "@/parts/blocks";
import { KINDS, kindOf, withoutServer } from "@/parts/tools/kinds";
import { Store, useStore } from "@/store";

/** A call as a view gets it. */
export interface Call {
  id: string;
  name: string;
  kind: string;
  state: string;
  input: unknown;
  output?: unknown;
  error?: string;
}

export interface AppToolView {
  /** Draws a call into an empty element. */
  render: (element: HTMLElement, call: Call) => unknown;
  /** The call has changed; without this function, it is drawn again. */
  update?: (element: HTMLElement, call: Call) => unknown;
  /** The element is about to be removed. */
  remove?: (element: HTMLElement) => unknown;
}

const KIND = "kind:";
const views = new Store<Record<string, AppToolView>>({});

/** `tool`: the name of a tool, or `kind:` and a kind. A later view of the same replaces it. */
export function registerToolView(tool: string, view: AppToolView): void {
  if (typeof tool !== "string" || tool === "") throw new TypeError("expected the name of a tool");
  if (typeof view?.render !== "function")
    throw new TypeError(`the view of ${tool} has no function render`);
  const kind = tool.startsWith(KIND) ? tool.slice(KIND.length) : undefined;
  if (kind !== undefined && !KINDS.some((each) => each === kind))
    throw new TypeError(`${kind} is no kind of tool; known: ${KINDS.join(", ")}`);
  views.set({ [tool]: view });
}

/** The view of an app for a call: by its name, also without that of its MCP server, else by its kind. */
export function useAppView(block: ToolBlock): AppToolView | undefined {
  const all = useStore(views);
  const names = [block.name, withoutServer(block.name), KIND + kindOf(block)];
  const name = names.find((each) => Object.hasOwn(all, each));
  return name === undefined ? undefined : all[name];
}

interface AppViewProps {
  view: AppToolView;
  block: ToolBlock;
  onFailed: (view: AppToolView) => void;
}

export function AppView({ view, block, onFailed }: AppViewProps) {
  const box = useRef<HTMLDivElement>(null);
  const isDrawn = useRef(false);
  const { callId: id, name, state, input, output, error } = block;
  const kind = kindOf(block);
  useEffect(() => {
    const { current: element } = box;
    if (!element) return;
    const work = () => {
      const call = structuredClone({ id, name, kind, state, input, output, error });
      if (isDrawn.current && view.update) return view.update(element, call);
      element.replaceChildren();
      isDrawn.current = true;
      return view.render(element, call);
    };
    if (!succeeds(work)) onFailed(view);
  }, [view, onFailed, id, name, kind, state, input, output, error]);
  useEffect(() => {
    const { current: element } = box;
    return () => {
      isDrawn.current = false;
      if (element) succeeds(() => view.remove?.(element));
    };
  }, [view]);
  return <div ref={box} className="overflow-x-auto text-block" />;
}

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    console.error("a tool's view failed", error);
    return false;
  }
}
