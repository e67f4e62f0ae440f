import { isHidden } from "@/brand";
import { isBoolean, stored } from "@/state/stored";
import { Store } from "@/store";

/** The panes of the side panel, in the order of its tabs. */
export const PANES = ["code", "terminal", "files", "inspector"] as const;
export type Pane = (typeof PANES)[number];

interface PanelState {
  open: boolean;
  pane: Pane;
  /** The selected run; if it is not in the open chat, the latest run is shown. */
  chosen?: string;
}

const isPane = (value: unknown): value is Pane => PANES.includes(value as Pane);

const isPanelState = (value: unknown): value is PanelState => {
  const { open, pane, chosen } = (value ?? {}) as Record<string, unknown>;
  const isRun = chosen === undefined || typeof chosen === "string";
  return typeof open === "boolean" && isPane(pane) && isRun;
};

const atFirst: PanelState = { open: false, pane: "inspector" };

/** The views of the inspector, in the order of its tabs. */
export const VIEWS = ["timeline", "events", "stdout", "stderr", "models"] as const;
export type InspectorView = (typeof VIEWS)[number];

const isView = (value: unknown): value is InspectorView => VIEWS.includes(value as InspectorView);

/** The view that the inspector shows; of this browser tab. */
export const inspectorView = stored<InspectorView>(
  "mobox:inspector-view",
  "timeline",
  isView,
  () => sessionStorage,
);

/** The panes that have something to show of the run; the inspector always has. */
export const filled = new Store<{ panes: readonly Pane[] }>({ panes: ["inspector"] });

/** Stored per browser tab; restored on reload. */
const state = stored<PanelState>("mobox:panel", atFirst, isPanelState, () => sessionStorage);

const notEmpty = (pane: Pane): Pane => (filled.get().panes.includes(pane) ? pane : "inspector");

const change = (to: Partial<PanelState>) => state.set({ ...state.get(), ...to });

const CLOSED = isHidden("panel");
const shown = (panel: PanelState): PanelState => (CLOSED ? { ...panel, open: false } : panel);

export const panel = {
  use: () => shown(state.use()[0]),
  get: () => shown(state.get()),
  /** Opens it with the pane that was last shown, unless that is empty. */
  open: () => change({ open: true, pane: notEmpty(state.get().pane) }),
  /** Opens it with this pane. */
  openAt: (pane: Pane) => change({ open: true, pane }),
  close: () => change({ open: false }),
  show: (pane: Pane) => change({ pane }),
  /** Opens it with this run; without one, it follows the latest run. */
  choose: (run: string | undefined) => change({ open: true, chosen: run }),
  /** Opens the inspector with a view, and with this run if one is named. */
  inspect: (view: InspectorView, run?: string) => {
    inspectorView.set(view);
    change({ open: true, pane: "inspector", ...(run !== undefined && { chosen: run }) });
  },
};

const isWidth = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;

/** The preferred width in pixels; the page may have less room. */
export const USUAL_WIDTH = 720;
export const panelWidth = stored("mobox:panel-width", USUAL_WIDTH, isWidth);

/** Shows the terminal as lines of text, for screen readers and for searching. */
export const terminalAsText = stored("mobox:terminal-as-text", false, isBoolean);
