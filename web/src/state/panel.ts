import { isBoolean, stored } from "@/state/stored";

/** The panes of the side panel, in the order of its tabs. */
export const PANES = ["code", "terminal", "inspector"] as const;
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

const atFirst: PanelState = { open: false, pane: "code" };

/** Stored per browser tab; restored on reload. */
const state = stored<PanelState>("mobox:panel", atFirst, isPanelState, () => sessionStorage);

const change = (to: Partial<PanelState>) => state.set({ ...state.get(), ...to });

export const panel = {
  use: () => state.use()[0],
  get: state.get,
  open: () => change({ open: true }),
  close: () => change({ open: false }),
  show: (pane: Pane) => change({ pane }),
  /** Opens it with this run; without one, it follows the latest run. */
  choose: (run: string | undefined) => change({ open: true, chosen: run }),
};

const isWidth = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;

/** The preferred width in pixels; the page may have less room. */
export const USUAL_WIDTH = 460;
export const panelWidth = stored("mobox:panel-width", USUAL_WIDTH, isWidth);

/** Shows the terminal as lines of text, for screen readers and for searching. */
export const terminalAsText = stored("mobox:terminal-as-text", false, isBoolean);
