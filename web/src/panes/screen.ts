/** The terminal emulator. Loaded on demand. */
import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { endOf } from "@/panes/endOf";
import { ESC } from "@/panes/escapes";

const LINES = 10_000;
const ROOM = { most: 1_000_000, step: 250_000 };
const AFRESH = `${ESC}c`;

/** Splits a line at carriage returns. */
const RETURNS = /(?=\r(?!\n))/;

export class Screen {
  #terminal: Terminal;
  #room = new FitAddon();
  #observer: ResizeObserver;
  #wanted = "";
  #written = "";
  #isWriting = false;

  constructor(box: HTMLElement, font: Pick<CSSStyleDeclaration, "fontFamily">) {
    this.#terminal = new Terminal({
      convertEol: true,
      cursorInactiveStyle: "none",
      disableStdin: true,
      fontFamily: font.fontFamily,
      fontSize: 12.5,
      lineHeight: 1.3,
      // No links; escape sequences for links are filtered too.
      linkHandler: { activate: () => {} },
      minimumContrastRatio: 4.5,
      scrollback: LINES,
      theme: coloursOf(box),
    });
    this.#terminal.loadAddon(this.#room);
    this.#terminal.open(box);
    // Read-only: the input element would only be an extra tab stop.
    if (this.#terminal.textarea) this.#terminal.textarea.disabled = true;
    this.#observer = new ResizeObserver(() => this.#fillRoom());
    this.#observer.observe(box);
  }

  /** Shows this text; writes only the part that is new. */
  show(text: string): void {
    this.#wanted = endOf(text, ROOM);
    if (!this.#isWriting) void this.#writeAll();
  }

  recolour(box: HTMLElement): void {
    this.#terminal.options.theme = coloursOf(box);
  }

  get selection(): string {
    return this.#terminal.getSelection();
  }

  scroll(key: string): boolean {
    const scroll = SCROLLS[key];
    scroll?.(this.#terminal);
    return scroll !== undefined;
  }

  dispose(): void {
    this.#observer.disconnect();
    this.#terminal.dispose();
  }

  #fillRoom(): void {
    const { cols, rows } = this.#room.proposeDimensions() ?? {};
    if (cols && rows) this.#terminal.resize(cols, rows);
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#written !== this.#wanted) {
      const text = this.#wanted;
      const isMore = text.startsWith(this.#written);
      const pieces = (isMore ? text.slice(this.#written.length) : text).split(RETURNS);
      if (!isMore) pieces.unshift(AFRESH);
      for (const piece of visible(pieces)) await this.#write(piece);
      this.#written = text;
    }
    this.#isWriting = false;
  }

  /** A wrapped line starts some rows above: rewriting continues there. */
  #write(piece: string): Promise<void> {
    const rows = piece.startsWith("\r") ? this.#rowsOfLine() : 0;
    const up = rows ? `${ESC}[${rows}A` : "";
    return new Promise((resolve) => this.#terminal.write(up + piece, resolve));
  }

  #rowsOfLine(): number {
    const buffer = this.#terminal.buffer.active;
    const here = buffer.baseY + buffer.cursorY;
    let first = here;
    while (first > 0 && buffer.getLine(first)?.isWrapped) first--;
    return here - first;
  }
}

const SCROLLS: Record<string, (terminal: Terminal) => void> = {
  ArrowUp: (terminal) => terminal.scrollLines(-1),
  ArrowDown: (terminal) => terminal.scrollLines(1),
  PageUp: (terminal) => terminal.scrollPages(-1),
  PageDown: (terminal) => terminal.scrollPages(1),
  Home: (terminal) => terminal.scrollToTop(),
  End: (terminal) => terminal.scrollToBottom(),
};

/** Drops text that a later carriage return overwrites: a progress bar is drawn once. */
function visible(pieces: string[]): string[] {
  let colours = "";
  return pieces.flatMap((piece, at) => {
    if (isCovered(piece, pieces[at + 1])) {
      colours += piece.match(COLOUR)?.join("") ?? "";
      return [];
    }
    const shown = piece.startsWith("\r") ? `\r${colours}${piece.slice(1)}` : piece;
    colours = "";
    return [shown];
  });
}

const COLOUR = new RegExp(`${ESC}\\[[\\d;:]*m`, "g");
const SEQUENCE = new RegExp(`${ESC}\\[[\\d;:]*[A-Za-z]`, "g");
const widthOf = (text: string) => text.replace(SEQUENCE, "").length;

function isCovered(piece: string, next: string | undefined): boolean {
  if (!piece.startsWith("\r") || piece.includes("\n") || !next?.startsWith("\r")) return false;
  return widthOf(next.split("\n", 1)[0] ?? "") >= widthOf(piece);
}

/** The page's colours, readable on its background. */
const COLOURS: Record<string, keyof ITheme & string> = {
  "--ground": "background",
  "--ink": "foreground",
  "--bad": "red",
  "--ok": "green",
  "--running": "yellow",
  "--accent": "blue",
  "--thinking": "magenta",
  "--processing": "cyan",
  "--ink-2": "brightBlack",
};

function coloursOf(box: HTMLElement): ITheme {
  const style = getComputedStyle(box);
  const read = (name: string) => style.getPropertyValue(name).trim();
  const named = Object.entries(COLOURS).map(([name, colour]) => [colour, read(name)] as const);
  const bright = named.map(([colour, value]) => [brightOf(colour), value] as const);
  const selection = { selectionBackground: `${read("--accent")}55`, cursor: read("--ground") };
  return { ...Object.fromEntries([...bright, ...named]), ...selection };
}

const brightOf = (colour: string) => `bright${colour.charAt(0).toUpperCase()}${colour.slice(1)}`;
