import { isBoolean, stored } from "@/state/stored";

/** What the panel beside a chat can show of a run, in the order of its tabs. */
export const PANES = ["code", "terminal", "inspector"] as const;
export type Pane = (typeof PANES)[number];

interface PanelState {
  open: boolean;
  pane: Pane;
  /** The run that the person wants to see; where it is not in the open chat, its newest is shown. */
  chosen?: string;
}

const isPane = (value: unknown): value is Pane => PANES.includes(value as Pane);

const isPanelState = (value: unknown): value is PanelState => {
  const { open, pane, chosen } = (value ?? {}) as Record<string, unknown>;
  const isRun = chosen === undefined || typeof chosen === "string";
  return typeof open === "boolean" && isPane(pane) && isRun;
};

const atFirst: PanelState = { open: false, pane: "code" };

/** Each tab has a panel of its own, which is as it was when the page is loaded again. */
const state = stored<PanelState>("mobox:panel", atFirst, isPanelState, () => sessionStorage);

const change = (to: Partial<PanelState>) => state.set({ ...state.get(), ...to });

export const panel = {
  use: () => state.use()[0],
  get: state.get,
  open: () => change({ open: true }),
  close: () => change({ open: false }),
  show: (pane: Pane) => change({ pane }),
  /** Opens it with this run; without one, with the newest, whichever that will be. */
  choose: (run: string | undefined) => change({ open: true, chosen: run }),
};

const isWidth = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;

/** In pixels, as the person likes it; there may be less room than that. */
export const USUAL_WIDTH = 460;
export const panelWidth = stored("mobox:panel-width", USUAL_WIDTH, isWidth);

/** The terminal is shown as lines of text, for who cannot see it or wants to search in it. */
export const terminalAsText = stored("mobox:terminal-as-text", false, isBoolean);
